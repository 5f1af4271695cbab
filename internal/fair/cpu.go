package fair

import (
	"syscall"
	"time"
)

// processCPU returns the CPU time of this process; 0 if it is unknown.
func processCPU() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// scale contains the ratio of the process's CPU time to the time charged to orgs. The two differ,
// because an org is charged for the time in which a request has a place. In this time other
// programs may run, or the request may wait for a database.
type scale struct {
	cpu     func() time.Duration
	before  time.Duration // CPU time of the process at the last call of look
	spent   time.Duration // time charged since the last call of look, before scaling
	using   float64       // average CPU time used, in seconds per second
	charged float64       // average time charged, in seconds per second
}

// look updates the averages in the fields `using` and `charged`. The parameter `passed` is the time
// since the last call.
func (c *scale) look(passed time.Duration) {
	now := c.cpu()
	c.using = averaged(c.using, now-c.before, passed)
	c.charged = averaged(c.charged, c.spent, passed)
	c.before, c.spent = now, 0
}

// of returns the part of a cost that is charged to the org. It is less than the whole cost only if
// the time charged to all orgs exceeds the CPU time that the process has used.
func (c *scale) of(cost time.Duration) time.Duration {
	c.spent += cost
	if c.using <= 0 || c.using >= c.charged {
		return cost
	}
	return time.Duration(float64(cost) * c.using / c.charged)
}

// averaged returns the average usage over about the last second, in seconds per second. The
// parameter `average` is the previous average. Since then, the time `used` was used, and the time
// `passed` has passed.
func averaged(average float64, used, passed time.Duration) float64 {
	part := min(1, float64(passed)/float64(lately))
	return average + (used.Seconds()/passed.Seconds()-average)*part
}
