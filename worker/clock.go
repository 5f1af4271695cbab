package worker

import (
	"time"

	"github.com/perdure/perdure"
	"golang.org/x/sys/unix"
)

// bootTime returns the time since boot, including the time in which the machine was suspended. Leases are
// measured by it, because Go's monotonic clock stops during a suspend, but a lease at the server does not.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(bootClock, &ts); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(ts.Nano())
}

// leaseClock measures how much of a lease is left. It starts before the request that claims or
// renews the lease is sent, so the lease never ends later on this worker than at the server.
type leaseClock struct {
	now   func() time.Duration
	from  time.Duration
	lasts time.Duration
}

// newLease returns the leaseClock of a lease of which the given duration is left. If that is less
// than a whole lease, the clock has started in the past.
func (w *Worker) newLease(left time.Duration) leaseClock {
	whole := max(w.settings.Lease, left)
	return leaseClock{w.Clock, w.Clock() - (whole - left), whole}
}

// left returns how much is left of a lease that was just claimed and has the duration `lasts`. The
// request was sent at the time `sent`. The server held the request for the duration `waited` before
// the lease began, so that duration does not count.
func (w *Worker) left(lasts, waited, sent time.Duration) time.Duration {
	return max(0, lasts-max(0, w.Clock()-sent-waited))
}

// dateAgent sets c.LeaseFor to how much of the lease is left now, and c.Waited to 0. The parameter
// `sent` is the time by w.Clock at which the request for the claim was sent.
func (w *Worker) dateAgent(c *perdure.AgentClaim, sent time.Duration) {
	c.LeaseFor, c.Waited = w.left(c.LeaseFor, c.Waited, sent), 0
}

// dateTask sets c.LeaseFor to how much of the lease is left now, and c.Waited to 0. The parameter
// `sent` is the time by w.Clock at which the request for the claim was sent.
func (w *Worker) dateTask(c *perdure.TaskClaim, sent time.Duration) {
	c.LeaseFor, c.Waited = w.left(c.LeaseFor, c.Waited, sent), 0
}

// over reports whether the lease has expired.
func (c leaseClock) over() bool { return c.now()-c.from >= c.lasts }

// late reports whether the lease has expired or is in its last fifth. The worker then begins no new
// work with it.
func (c leaseClock) late() bool { return c.now()-c.from >= c.lasts*4/5 }
