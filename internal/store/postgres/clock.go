package postgres

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// clock is the database's time, on which servers with different clocks agree. Every batch reads it
// from the database. Between batches, it advances with this machine's clock.
type clock struct {
	fixed func() time.Time // used instead of the database's time, if not nil
	ahead atomic.Int64     // how far the database is ahead of this machine's clock, in nanoseconds
}

// set sets the clock to a time that a transaction has read from the database, and returns that
// time. The parameter `micros` is that time in microseconds since 1970.
func (c *clock) set(micros int64) perdure.Time {
	if c.fixed != nil {
		return perdure.At(c.fixed())
	}
	at := time.UnixMicro(micros)
	c.ahead.Store(int64(time.Until(at)))
	return perdure.At(at)
}

// Now returns the current time of the database.
func (c *clock) Now() time.Time {
	if c.fixed != nil {
		return c.fixed()
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}
