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

// scale contains the ratio of the process's CPU time to the charged time. The two differ because
// the time that a request spends in a place includes time in which other programs run, or in which
// the request waits for a database.
type scale struct {
	cpu     func() time.Duration
	before  time.Duration // CPU time at the last look
	spent   time.Duration // time charged since the last look, before scaling
	using   float64       // averages in seconds per second
	charged float64
}

// look updates the averages. The parameter passed is the time since the last call.
func (c *scale) look(passed time.Duration) {
	now := c.cpu()
	c.using = averaged(c.using, now-c.before, passed)
	c.charged = averaged(c.charged, c.spent, passed)
	c.before, c.spent = now, 0
}

// of returns the part of a cost that is charged. It is less than the cost only if the charged time
// exceeds the CPU time of the process.
func (c *scale) of(cost time.Duration) time.Duration {
	c.spent += cost
	if c.using <= 0 || c.using >= c.charged {
		return cost
	}
	return time.Duration(float64(cost) * c.using / c.charged)
}

// averaged returns the new average usage over about the last second. The duration used was used
// during the duration passed.
func averaged(average float64, used, passed time.Duration) float64 {
	part := min(1, float64(passed)/float64(lately))
	return average + (used.Seconds()/passed.Seconds()-average)*part
}
