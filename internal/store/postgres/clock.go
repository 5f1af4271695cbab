package postgres

import (
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

// clock is the database's time. Every batch updates it; in between it advances with this machine's
// clock. So servers with different clocks agree.
type clock struct {
	fixed func() time.Time // replaces the clock, if set
	ahead atomic.Int64     // how far the database is ahead of this machine's clock, in nanoseconds
}

// set updates the clock. micros is the database's time, read by a transaction, in microseconds
// since 1970. set returns the time of that transaction.
func (c *clock) set(micros int64) perdure.Time {
	if c.fixed != nil {
		return perdure.At(c.fixed())
	}
	at := time.UnixMicro(micros)
	c.ahead.Store(int64(time.Until(at)))
	return perdure.At(at)
}

// Now returns the current time.
func (c *clock) Now() time.Time {
	if c.fixed != nil {
		return c.fixed()
	}
	return time.Now().Add(time.Duration(c.ahead.Load()))
}
