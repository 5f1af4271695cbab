// Package clock measures the time of a store. That time does not jump when the machine's clock is
// set.
package clock

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// aside is how far the machine's clock must be ahead of the store's time to count as set
	// forward. If it stays that far ahead for adoptAfter, the store adopts the machine's clock.
	// Smaller differences are corrected gradually.
	aside = time.Second
	// adoptAfter is how long the machine's clock must be ahead by more than `aside` before the
	// store adopts that clock.
	adoptAfter = 10 * time.Minute
	// catchUp and waitFor limit how fast the store's time is corrected. In an elapsed time t, the
	// correction is at most t/catchUp forward and t/waitFor back. A correction forward makes a lease
	// of 15 s at most 7.5 ms shorter. A correction back makes the lease longer, which is harmless.
	catchUp = 2000
	waitFor = 10
	// sleepUnit is the shortest sleep of the machine that counts, because shorter ones could be
	// measurement noise. It is also the minimum interval between two checks for sleep.
	sleepUnit = 10 * time.Millisecond
)

// Steady is the store's time. It starts with the time of the machine's clock and advances with the
// elapsed time, including the machine's sleep. So setting the machine's clock neither ends leases,
// limits or timers early nor delays them. But the store's time slowly follows the machine's clock.
// If that clock is set forward and stays ahead, the store adopts it. If it is set back, the store's
// time advances more slowly until both are equal, because the store's time must never go back. See
// decision 37.
type Steady struct {
	// read returns the time of the machine's clock, and the time of a monotonic clock.
	read func() (wall time.Time, passed time.Duration)
	// slept returns how long the machine has slept since boot.
	slept  func() time.Duration
	logger *slog.Logger

	mu        sync.Mutex // guards the fields below
	time      time.Time
	last      time.Duration // reading of the monotonic clock when the store's time was last updated
	asleep    time.Duration
	looked    time.Duration // reading of the monotonic clock when sleep was last checked
	unsettled time.Duration // time elapsed since the last comparison with the machine's clock
	ahead     time.Duration // for how long the machine's clock has been ahead by more than aside
}

// New returns a clock that starts with the current time of this machine's clock. It logs when it
// adopts the machine's clock.
func New(logger *slog.Logger) *Steady { return newSteady(machine(), slept(), logger) }

func newSteady(read func() (time.Time, time.Duration), slept func() time.Duration, logger *slog.Logger) *Steady {
	wall, passed := read()
	return &Steady{read: read, slept: slept, logger: logger, time: wall, last: passed, looked: passed, asleep: slept()}
}

// machine returns a function that reads the clocks of this machine.
func machine() func() (time.Time, time.Duration) {
	began := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(began)
	}
}

// Now returns the store's time.
func (c *Steady) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, at := c.read()
	passed := max(0, at-c.last)
	c.last = at
	if at-c.looked >= sleepUnit {
		c.looked = at
		if asleep := c.slept(); asleep-c.asleep >= sleepUnit {
			passed += asleep - c.asleep
			c.asleep = asleep
		}
	}
	c.time = c.time.Add(passed)
	if c.unsettled += passed; c.unsettled >= time.Millisecond {
		c.settle(wall.Sub(c.time), c.unsettled)
		c.unsettled = 0
	}
	return c.time
}

// settle moves the store's time towards the machine's clock, which is ahead by `off`. The parameter
// `passed` is the time elapsed since the last call.
func (c *Steady) settle(off, passed time.Duration) {
	if off <= aside {
		c.ahead = 0
	} else if c.ahead += passed; c.ahead >= adoptAfter {
		c.logger.Warn("the machine's clock was set forward and stays ahead; the store goes by it now", "by", off)
		c.time, c.ahead = c.time.Add(off), 0
		return
	}
	if off < 0 {
		c.time = c.time.Add(-min(-off, passed/waitFor))
	} else {
		c.time = c.time.Add(min(off, passed/catchUp))
	}
}
