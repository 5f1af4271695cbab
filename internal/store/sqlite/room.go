package sqlite

import (
	"context"

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
	if !c.full {
		c.impair("")
		return batch
	}
	c.impair(errFull)
	var admitted, refused []*commit.Call
	for _, call := range batch {
		if call.Frees {
			admitted = append(admitted, call)
		} else {
			refused = append(refused, call)
		}
	}
	refuse(refused, errFull)
	return admitted
}

func refuse(calls []*commit.Call, why string) {
	for _, call := range calls {
		call.Answer(commit.Outcome{Err: unavailable(nil, "%s", why)})
	}
}

// frameSize is what a page takes up in the log.
const frameSize = 4096 + 24

func (c *committer) logBytes() int64 { return int64(c.conn.logPages()) * frameSize }

// logHasRoom reports whether the log is below its limit, and empties it where it is
// not and no read is in the way.
func (c *committer) logHasRoom() bool {
	return c.logBytes() < c.walLimit || c.beginAnew(100)
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

// Impaired returns why the store refuses writes that it should not, "" if it does
// not. It looks again before it says so.
func (s *Store) Impaired(ctx context.Context) string {
	why := s.committer.impaired.Load()
	if why == nil || *why == "" {
		return ""
	}
	_, _ = s.Do(ctx, store.Command{ // what it finds is noted
		Name: "look for room", Lane: store.LaneSweeps, Frees: true,
		Decide: func(*store.State) (*store.Changes, error) { return nil, nil },
	})
	return *s.committer.impaired.Load()
}
