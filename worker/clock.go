package worker

import (
	"time"

	"github.com/perdure/perdure"
	"golang.org/x/sys/unix"
)

// bootTime is time since boot, suspend included: a lease continues running while
// the machine sleeps, and Go's own monotonic clock stands still.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(bootClock, &ts); err != nil {
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

// newLease is a lease of which that much is left, if it is whole one that is
// asked for now.
func (w *Worker) newLease(left time.Duration) leaseClock {
	whole := max(w.settings.Lease, left)
	return leaseClock{w.Clock, w.Clock() - (whole - left), whole}
}

// left is how much is left of a lease that came with the answer to a request sent
// at sent. An answer may be on its way, or this process be stopped, for longer than
// the lease lasts.
func (w *Worker) left(lasts, waited, sent time.Duration) time.Duration {
	return max(0, lasts-max(0, w.Clock()-sent-waited))
}

// dateAgent and dateTask put what is left of a claim's lease in its place.
func (w *Worker) dateAgent(c *perdure.AgentClaim, sent time.Duration) {
	c.LeaseFor, c.Waited = w.left(c.LeaseFor, c.Waited, sent), 0
}

func (w *Worker) dateTask(c *perdure.TaskClaim, sent time.Duration) {
	c.LeaseFor, c.Waited = w.left(c.LeaseFor, c.Waited, sent), 0
}

// over reports whether the lease has ended.
func (c leaseClock) over() bool { return c.now()-c.from >= c.lasts }

// late reports whether the lease is in its last fifth, in which nothing new is
// begun.
func (c leaseClock) late() bool { return c.now()-c.from >= c.lasts*4/5 }
