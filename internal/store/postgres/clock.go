package postgres

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// clock is the database's: every batch tells it again, in between this machine's
// clock runs on. Servers whose own clocks differ so agree.
type clock struct {
	fixed func() time.Time // in its place, if set
	ahead atomic.Int64     // of this machine's, nanoseconds
}

// set is told the database's time in microseconds, and returns the time of the
// transaction that has asked for it.
func (c *clock) set(micros int64) perdure.Time {
	if c.fixed != nil {
		return perdure.At(c.fixed())
	}
	at := time.UnixMicro(micros)
	c.ahead.Store(int64(time.Until(at)))
	return perdure.At(at)
}

// Now is the time now.
func (c *clock) Now() time.Time {
	if c.fixed != nil {
		return c.fixed()
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}
