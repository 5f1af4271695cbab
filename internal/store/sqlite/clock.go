package sqlite

import (
	"log/slog"
	"sync"
	"time"
)

const (
	// aside is how far the machine's clock may be ahead without being adopted at
	// once after adoptAfter: less is caught up with.
	aside = time.Second
	// adoptAfter is how long the machine's clock has to be ahead before that counts
	// as right.
	adoptAfter = 10 * time.Minute
	// A lease of 15 s that is caught up with is 7.5 ms shorter; one that is waited
	// for is longer, which harms nobody.
	catchUp = 2000 // one part of so many
	waitFor = 10
	// sleepUnit is the least sleep of the machine that is told from noise, and how
	// often it is looked for.
	sleepUnit = 10 * time.Millisecond
)

// steadyClock is the store's time: the machine's clock as the store was opened, and
// what has passed since, the machine's sleep included. So what sets the machine's
// clock ends no lease, limit or timer early and holds none up. It follows that
// clock slowly; one that is set forward and stays ahead is adopted, one that is set
// back is waited for, for the time never goes back. See decision 37.
type steadyClock struct {
	read   func() (wall time.Time, passed time.Duration) // the machine's clock, and one that nobody sets
	slept  func() time.Duration                          // how long the machine has slept since it began
	logger *slog.Logger

	mu        sync.Mutex // guards what follows
	time      time.Time
	last      time.Duration // when time was brought up to date
	asleep    time.Duration
	looked    time.Duration // for sleep
	unsettled time.Duration // passed since the clock was compared with the machine's
	ahead     time.Duration // how long the machine's has been ahead by more than aside
}

func newSteadyClock(read func() (time.Time, time.Duration), slept func() time.Duration, logger *slog.Logger) *steadyClock {
	wall, passed := read()
	return &steadyClock{read: read, slept: slept, logger: logger, time: wall, last: passed, looked: passed, asleep: slept()}
}

// machine reads the clocks of this machine.
func machine() func() (time.Time, time.Duration) {
	began := time.Now()
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.Round(0), now.Sub(began)
	}
}

// Now is the store's time.
func (c *steadyClock) Now() time.Time {
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

// settle moves the time towards the machine's, which is so far ahead, after so much
// has passed.
func (c *steadyClock) settle(off, passed time.Duration) {
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
