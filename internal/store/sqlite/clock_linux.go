package sqlite

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// slept returns a function that reports how long the machine has slept since it was
// booted: by how much the clock that counts sleep is ahead of the one that does not.
func slept() func() time.Duration {
	var (
		mu    sync.Mutex
		known time.Duration
	)
	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		// A process that is stopped between the readings reads nothing of use.
		for range 4 {
			before, with, after := read(unix.CLOCK_MONOTONIC), read(unix.CLOCK_BOOTTIME), read(unix.CLOCK_MONOTONIC)
			if after-before < sleepUnit/10 {
				known = with - before
				break
			}
		}
		return known
	}
}

func read(clock int32) time.Duration {
	var at unix.Timespec
	if err := unix.ClockGettime(clock, &at); err != nil {
		return 0 // of both, so that nothing is made of it
	}
	return time.Duration(at.Nano())
}
