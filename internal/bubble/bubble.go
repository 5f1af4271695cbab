// Package bubble runs tests in virtual time: testing/synctest, with a guard for
// the race detector. Tests use it in place of synctest.Test.
package bubble

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

// Test is synctest.Test. In a race build it runs on one processor meanwhile:
// all timers of a bubble share one race context, and two channel timers that are
// read at the same moment use it from two OS threads at once, which ends the
// whole process with a failed check of ThreadSanitizer ("tsan_rtl.cpp") or a
// signal in it. Races are found on one processor too: the detector goes by the
// order of synchronisation, not by what ran at the same time.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if raceBuild {
		single.enter()
		defer single.leave()
	}
	synctest.Test(t, f)
}

// single counts the bubbles that are open, as parallel tests may have several.
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
