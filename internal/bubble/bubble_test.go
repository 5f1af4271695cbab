package bubble

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// TestManyTimersReadAtOneMoment checks that many timers can be read at the same moment, and that
// the number of processors is the same afterwards. Without the guard of package bubble, the race
// detector ends the process in this test.
func TestManyTimersReadAtOneMoment(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	for range 1500 {
		Test(t, func(*testing.T) {
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					for range 20 {
						first, second := time.NewTimer(time.Second), time.NewTimer(time.Second)
						<-first.C
						select {
						case <-second.C:
						default:
						}
					}
				})
			}
			all.Wait()
		})
	}
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Fatalf("%d processors after the bubbles, %d before", after, before)
	}
}

func TestBubblesMayOverlap(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	t.Run("all", func(t *testing.T) {
		for range 4 {
			t.Run("one", func(t *testing.T) {
				t.Parallel()
				Test(t, func(*testing.T) { time.Sleep(time.Hour) })
			})
		}
	})
	if after := runtime.GOMAXPROCS(0); after != before {
		t.Fatalf("%d processors after the bubbles, %d before", after, before)
	}
}
