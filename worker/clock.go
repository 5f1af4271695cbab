package worker

import (
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is time since boot, suspend included: a lease goes on running while
// the machine sleeps, and Go's own monotonic clock stands still.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(ts.Nano())
}

// leaseClock says how much of a lease is left, counted from before the request
// that began or renewed it was sent, so that it never outlives the server's.
type leaseClock struct {
	now   func() time.Duration
	from  time.Duration
	lasts time.Duration
}

// newLease is a lease that is asked for now.
func (w *Worker) newLease(lasts time.Duration) leaseClock {
	return leaseClock{w.Clock, w.Clock(), lasts}
}

// over tells whether the lease has ended.
func (c leaseClock) over() bool { return c.now()-c.from >= c.lasts }

// late tells whether the lease is in its last fifth, in which nothing new is
// begun.
func (c leaseClock) late() bool { return c.now()-c.from >= c.lasts*4/5 }
