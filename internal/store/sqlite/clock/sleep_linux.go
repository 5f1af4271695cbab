package clock

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// slept returns a function that returns how long the machine has slept since boot: the difference
// of CLOCK_BOOTTIME, which counts sleep, and CLOCK_MONOTONIC, which does not.
func slept() func() time.Duration {
	var (
		mu    sync.Mutex
		known time.Duration
	)
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		// The process may be paused between the readings of the clocks, so slow readings are
		// discarded.
		for range 4 {
			before, with, after := readClock(unix.CLOCK_MONOTONIC), readClock(unix.CLOCK_BOOTTIME), readClock(unix.CLOCK_MONOTONIC)
			if after-before < sleepUnit/10 {
				known = with - before
				break
			}
		}
		return known
	}
}

func readClock(clock int32) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(clock, &at); err != nil {
		return 0 // both clocks would return 0, so the difference is 0
	}
	return time.Duration(at.Nano())
}
