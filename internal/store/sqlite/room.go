package sqlite

import (
	"context"
	"math"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
)

const (
	errFull     = "the disk is full; what is deleted makes room, and writes go on when there is enough"
	errLogLimit = "the write-ahead log has reached its limit, since reads are in the way of folding it into the file; writes go on when they have ended"
)

// admit answers the calls of a batch that there is no room for, and returns the
// others. On a disk that is full only those run that free what is stored: the room
// of the reserve is theirs.
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

// fitting splits a batch into the calls that there is room for and the others. What a
// call writes has to fit twice, into the log and then into the file: a log that cannot
// be folded any more would leave no room to delete either.
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

// room is how many bytes the log can grow by, and the log and the file together: the
// file may take the reserve.
type room struct{ log, both int64 }

func (r room) takes(size int64) bool { return size <= r.log && 2*size <= r.both }

func (r room) less(size int64) room { return room{r.log - size, r.both - 2*size} }

// roomFor returns the room for a batch. If that is too little it empties the log
// first.
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

// roomNow returns the room that there is. The log still has to move what is in it. A
// store without a reserve does not look.
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

// sizeInLog is about how many bytes a call adds to the log.
func sizeInLog(call *commit.Call) int64 { return int64(call.Bytes) + int64(call.Bytes)/8 + callPages }

// callPages is what a call writes beside its content: rows, and pages of indexes.
const callPages = 16 << 10

// stillShort reports whether a write that was refused would be refused again.
func (c *committer) stillShort() bool {
	if c.short > 0 && c.roomNow().takes(c.short) {
		c.short = 0
	}
	return c.short > 0
}

// freesWith runs a batch that found no room again with the reserve's, if all of it
// frees what is stored.
func (c *committer) freesWith(batch []*commit.Call, careful bool, outcomes []commit.Outcome, err error) ([]commit.Outcome, error) {
	for _, call := range batch {
		if !call.Frees {
			return outcomes, err
		}
	}
	if !c.reserve.Release() {
		return outcomes, err
	}
	c.filled = true // so that the reserve is made again
	return c.attempt(batch, careful)
}

func refuse(calls []*commit.Call, why string) {
	for _, call := range calls {
		call.Answer(commit.Outcome{Err: unavailable(nil, "%s", why)})
	}
}

// frameSize is what a page takes up in the log.
const frameSize = 4096 + 24

func (c *committer) logBytes() int64 { return int64(c.conn.logPages()) * frameSize }

// limitPatience is how many milliseconds the reads have that are in the way of emptying
// a log at its limit: nothing could be written meanwhile anyway.
const limitPatience = 1000

// logHasRoom reports whether the log is below its limit, and empties it where it is
// not and the reads in the way end.
func (c *committer) logHasRoom() bool {
	return c.logBytes() < c.walLimit || c.beginAnew(limitPatience)
}

// lookForRoom decides whether the disk is full.
func (c *committer) lookForRoom() {
	if c.reserve == nil || (c.reserve.Held() && !c.reserve.Low()) {
		return
	}
	c.makeRoom()
}

// makeRoom releases the reserve on a full disk, and empties the log with the room
// that this gives. The disk is full as long as the reserve cannot be made again.
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

// impair notes why writes are refused, "" if they are not.
func (c *committer) impair(why string) {
	if was := c.impaired.Load(); was == nil || *was != why {
		c.impaired.Store(&why)
	}
}

// Degraded implements [store.Degrading]: it says why writes are refused, and looks
// again before it does.
func (s *Store) Degraded(ctx context.Context) []store.Degradation {
	why := s.committer.impaired.Load()
	if why == nil || *why == "" {
		return nil
	}
	_, _ = s.Do(ctx, store.Command{ // what it finds is noted
		Name: "look for room", Lane: store.LaneSweeps, Frees: true,
		Decide: func(*store.State) (*store.Changes, error) { return nil, nil },
	})
	if why = s.committer.impaired.Load(); *why == "" {
		return nil
	}
	return []store.Degradation{{Check: store.CheckDisk, Detail: *why}}
}
