package worker

import (
	"runtime"
	"sync"
	"testing"
)

// TestGoroutinesAreToldApart checks that 100 live goroutines have different identifiers. An
// identifier does not change while the stack grows, other goroutines run, or the garbage collector
// runs.
func TestGoroutinesAreToldApart(t *testing.T) {
	const n = 100
	var all sync.Map
	var begun, over sync.WaitGroup
	begun.Add(n)
	for range n {
		over.Go(func() {
			me := goroutine()
			if _, taken := all.LoadOrStore(me, true); taken || me == 0 {
				t.Errorf("two goroutines are %x", me)
			}
			begun.Done()
			begun.Wait() // now all goroutines are live
			for depth := range 20 {
				if got := deep(200 * depth); got != me {
					t.Errorf("%x has become %x", me, got)
				}
				runtime.Gosched()
			}
		})
	}
	begun.Wait()
	runtime.GC()
	over.Wait()
}

// deep calls `goroutine` n stack frames deeper, and returns its result.
func deep(n int) uintptr {
	var frame [64]byte
	if n == 0 {
		return goroutine()
	}
	got := deep(n - 1)
	runtime.KeepAlive(&frame)
	return got
}
