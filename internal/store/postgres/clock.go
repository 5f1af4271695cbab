package postgres

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// clock is the database's time. Every batch reads it from the database. Between batches it advances
// with this machine's clock. So servers with different clocks agree on the time.
type clock struct {
	fixed func() time.Time // used instead of the database's time, if not nil
	ahead atomic.Int64     // how far the database is ahead of this machine's clock, in nanoseconds
}

// set updates the clock and returns the time that was read. A transaction has read it from the
// database as micros, the microseconds since 1970.
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
