package worker

import (
	"time"

	"github.com/perdure/perdure"
	"golang.org/x/sys/unix"
)

// bootTime returns the time since boot, suspend included. A lease continues while the machine
// sleeps, but Go's monotonic clock stops.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(bootClock, &ts); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(ts.Nano())
}

// leaseClock measures the rest of a lease. It counts from before the request that began or renewed
// the lease was sent, so it never ends later than the server's lease.
type leaseClock struct {
	now   func() time.Duration
	from  time.Duration
	lasts time.Duration
}

// newLease returns a lease with the given rest. A full lease counts from now.
func (w *Worker) newLease(left time.Duration) leaseClock {
	whole := max(w.settings.Lease, left)
	return leaseClock{w.Clock, w.Clock() - (whole - left), whole}
}

// left returns the rest of a lease whose reply answers a request sent at sent. A reply may take
// longer than the lease, or this process may be stopped for longer.
func (w *Worker) left(lasts, waited, sent time.Duration) time.Duration {
	return max(0, lasts-max(0, w.Clock()-sent-waited))
}

// dateAgent and dateTask replace the duration of a claim's lease with its rest.
func (w *Worker) dateAgent(c *perdure.AgentClaim, sent time.Duration) {
	c.LeaseFor, c.Waited = w.left(c.LeaseFor, c.Waited, sent), 0
}

func (w *Worker) dateTask(c *perdure.TaskClaim, sent time.Duration) {
	c.LeaseFor, c.Waited = w.left(c.LeaseFor, c.Waited, sent), 0
}

// over reports whether the lease has expired.
func (c leaseClock) over() bool { return c.now()-c.from >= c.lasts }

// late reports whether the lease is in its last fifth, in which nothing new is begun.
func (c leaseClock) late() bool { return c.now()-c.from >= c.lasts*4/5 }
