package sqlite

import (
	"context"
	"math"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

const (
	errFull     = "the disk is full; what is deleted makes room, and writes go on when there is enough"
	errLogLimit = "the write-ahead log has reached its limit, since reads are in the way of folding it into the file; writes go on when they have ended"
)

// admit returns the calls of a batch for which there is disk space, and answers the others with an
// error. On a full disk, it admits only calls that free data; these may use the reserve.
func (c *committer) admit(batch []*commit.Call) []*commit.Call {
	if c.brokenErr() != nil {
		return batch
	}
	if !c.logHasRoom() {
		c.impair(errLogLimit)
		refuse(batch, errLogLimit)
		return nil
	}
	c.lookForRoom()
	admitted, refused := c.fitting(batch)
	if len(refused) > 0 || c.full {
		c.impair(errFull)
	} else if !c.stillShort() {
		c.impair("")
	}
	refuse(refused, errFull)
	return admitted
}

// fitting splits a batch into the calls for which there is disk space and the others. The data of a
// call needs space in the log, and again in the file when the log is checkpointed.
func (c *committer) fitting(batch []*commit.Call) (fit, rest []*commit.Call) {
	left := c.roomFor(batch)
	for _, call := range batch {
		size := sizeInLog(call)
		switch {
		case call.Frees:
			fit = append(fit, call)
		case c.full:
			rest = append(rest, call)
		case left.takes(size):
			left = left.less(size)
			fit = append(fit, call)
		default:
			c.short = max(c.short, size)
			rest = append(rest, call)
		}
	}
	return fit, rest
}

// room is disk space in bytes: how much the log can grow, and how much the log and the file can
// grow together. The file may use the space of the reserve.
type room struct{ log, both int64 }

func (r room) takes(size int64) bool { return size <= r.log && 2*size <= r.both }

func (r room) less(size int64) room { return room{r.log - size, r.both - 2*size} }

// roomFor returns the disk space for a batch. If there is too little, it first empties the log.
func (c *committer) roomFor(batch []*commit.Call) room {
	size := int64(0)
	for _, call := range batch {
		if !call.Frees {
			size += sizeInLog(call)
		}
	}
	there := c.roomNow()
	if !c.full && !there.takes(size) && c.logBytes() > 0 {
		c.beginAnew(100)
		there = c.roomNow()
	}
	return there
}

// roomNow returns the current disk space. The size of the log is already subtracted from the field
// `both`, because the log must still be copied into the file. Without a reserve, space counts as
// unlimited.
func (c *committer) roomNow() room {
	none := room{math.MaxInt64, math.MaxInt64}
	if c.reserve == nil {
		return none
	}
	free, err := c.reserve.Free()
	if err != nil {
		return none
	}
	r := room{free, free - c.logBytes()}
	if c.reserve.Held() {
		r.both += c.reserve.Size()
	}
	return r
}

// sizeInLog returns the approximate number of bytes that a call adds to SQLite's write-ahead log.
func sizeInLog(call *commit.Call) int64 { return int64(call.Bytes) + int64(call.Bytes)/8 + callPages }

// callPages is the number of bytes that a call writes in addition to its content: rows and index
// pages.
const callPages = 16 << 10

// stillShort reports whether the disk space is still too little for the largest write that was
// refused.
func (c *committer) stillShort() bool {
	if c.short > 0 && c.roomNow().takes(c.short) {
		c.short = 0
	}
	return c.short > 0
}

// freesWith handles a batch that has failed because the disk was full. If all calls of the batch
// free data and the reserve exists, it releases the reserve and runs the batch again. Otherwise it
// returns the outcomes and the error unchanged.
func (c *committer) freesWith(batch []*commit.Call, careful bool, outcomes []commit.Outcome, err error) ([]commit.Outcome, error) {
	for _, call := range batch {
		if !call.Frees {
			return outcomes, err
		}
	}
	if !c.reserve.Release() {
		return outcomes, err
	}
	c.filled = true // makes the committer create the reserve again later
	return c.attempt(batch, careful)
}

func refuse(calls []*commit.Call, why string) {
	for _, call := range calls {
		call.Answer(commit.Outcome{Err: connection.Unavailable(nil, "%s", why)})
	}
}

// frameSize is the size of a page in the log, with its header.
const frameSize = 4096 + 24

func (c *committer) logBytes() int64 { return int64(c.conn.LogPages()) * frameSize }

// limitPatience is how long, in milliseconds, the committer waits for running reads to end, in
// order to empty a log that has reached its limit. Until the log is empty, the committer cannot
// write in any case.
const limitPatience = 1000

// logHasRoom reports whether the log is below its limit, after trying to empty the log if it is
// not.
func (c *committer) logHasRoom() bool {
	return c.logBytes() < c.walLimit || c.beginAnew(limitPatience)
}

// lookForRoom calls makeRoom if the reserve is missing or the disk has little free space.
func (c *committer) lookForRoom() {
	if c.reserve == nil || (c.reserve.Held() && !c.reserve.Low()) {
		return
	}
	c.makeRoom()
}

// makeRoom deletes the reserve on a full disk and uses its space to empty the log. The disk counts
// as full until the reserve can be created again.
func (c *committer) makeRoom() {
	if c.filled || c.reserve.Low() {
		c.reserve.Release()
	}
	c.filled = false
	if log, err := logSize(c.path); err != nil || log > 0 {
		c.beginAnew(100)
	}
	if c.reserve == nil {
		return
	}
	err := c.reserve.Make()
	switch full := err != nil; {
	case full && !c.full:
		c.logger.Error("the disk is full; writes are refused, but for those that delete", "err", err)
	case c.full && !full:
		c.logger.Info("there is room on the disk again")
	}
	c.full = err != nil
}

// impair records why writes are refused; "" means that they are accepted.
func (c *committer) impair(why string) {
	if was := c.impaired.Load(); was == nil || *was != why {
		c.impaired.Store(&why)
	}
}

// Degraded implements [store.Degrading]. If writes were refused, it checks the disk space again. It
// returns why writes are still refused; nil if they are not.
func (s *Store) Degraded(ctx context.Context) []store.Degradation {
	why := s.committer.impaired.Load()
	if why == nil || *why == "" {
		return nil
	}
	_, _ = s.Do(ctx, store.Command{ // the command updates impaired
		Name: "look for room", Lane: store.LaneSweeps, Frees: true,
		Decide: func(*store.State) (*store.Changes, error) { return nil, nil },
	})
	if why = s.committer.impaired.Load(); *why == "" {
		return nil
	}
	return []store.Degradation{{Check: store.CheckDisk, Detail: *why}}
}
