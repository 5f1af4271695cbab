package worker

import (
	"time"

	"github.com/perdure/perdure"
	"golang.org/x/sys/unix"
)

// bootTime returns the time since boot, including the time that the machine was suspended. The
// worker measures leases with it, because Go's monotonic clock stops during a suspend, and the
// server's lease does not.
func bootTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(bootClock, &ts); err != nil {
		return time.Duration(time.Now().UnixNano())
	}
	return time.Duration(ts.Nano())
}

// leaseClock measures the remaining time of a lease. It starts before the request that claims or
// renews the lease is sent. So it ends before the server's lease, or at the same time.
type leaseClock struct {
	now   func() time.Duration
	from  time.Duration
	lasts time.Duration
}

// newLease returns a leaseClock whose remaining time is left. If left is a full lease, the clock
// starts now; otherwise its start is in the past.
func (w *Worker) newLease(left time.Duration) leaseClock {
	whole := max(w.settings.Lease, left)
	return leaseClock{w.Clock, w.Clock() - (whole - left), whole}
}

// left returns the remaining time of a lease that was just claimed. That is the lease's duration,
// minus the time since the request was sent, plus the time that the request waited at the server.
func (w *Worker) left(lasts, waited, sent time.Duration) time.Duration {
	return max(0, lasts-max(0, w.Clock()-sent-waited))
}

// dateAgent replaces the duration of the claim's lease with its remaining time. The parameter sent
// is the time by w.Clock at which the request was sent.
func (w *Worker) dateAgent(c *perdure.AgentClaim, sent time.Duration) {
	c.LeaseFor, c.Waited = w.left(c.LeaseFor, c.Waited, sent), 0
}

// dateTask does for the claim of a task what dateAgent does for the claim of an execution.
func (w *Worker) dateTask(c *perdure.TaskClaim, sent time.Duration) {
	c.LeaseFor, c.Waited = w.left(c.LeaseFor, c.Waited, sent), 0
}

// over reports whether the lease has expired.
func (c leaseClock) over() bool { return c.now()-c.from >= c.lasts }

// late reports whether the lease has expired or is in its last fifth. In that time the worker
// begins no new work.
func (c leaseClock) late() bool { return c.now()-c.from >= c.lasts*4/5 }
