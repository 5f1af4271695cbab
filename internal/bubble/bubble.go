// Package bubble runs tests in virtual time: it is testing/synctest with a guard for the race
// detector. Tests use it instead of synctest.Test.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Test is like synctest.Test. In a race build it runs the process on one processor during the test.
// The reason is that all timers of a bubble share one race context. Two OS threads that read
// channel timers at the same moment would use this context at once. That would end the whole
// process with a failed check of ThreadSanitizer ("tsan_rtl.cpp") or a signal in ThreadSanitizer.
// Races are still found, because the detector compares the order of synchronization.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if raceBuild {
		single.enter()
		defer single.leave()
	}
	synctest.Test(t, f)
}

// single keeps the process on one processor while at least one bubble is open. It counts the open
// bubbles, because parallel tests may have several.
var single oneProcessor

type oneProcessor struct {
	mu     sync.Mutex
	open   int
	before int // processors before the first bubble
}

func (o *oneProcessor) enter() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open++; o.open == 1 {
		o.before = runtime.GOMAXPROCS(1)
	}
}

func (o *oneProcessor) leave() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.open--; o.open == 0 {
		runtime.GOMAXPROCS(o.before)
	}
}
