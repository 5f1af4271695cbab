package sqlite

import (
	"context"
	"os"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
)

const (
	// walLimit is how large the write-ahead log may grow before the committer
	// insists. It is folded into the file before ([committer.fold]), but can be begun
	// anew only at a moment without readers, which under load may be long in coming.
	walLimit = 256 << 20
	// walEvery is how many batches pass between two looks at its size.
	walEvery = 256
)

// trim begins the write-ahead log anew where it has grown too large: it waits
// for the reads under way, at most 100 ms, while new ones go on. What is
// committed is safe whether this works or not.
func (c *committer) trim() {
	if c.batches++; c.batches%walEvery != 0 {
		return
	}
	if wal, err := os.Stat(c.path + "-wal"); err != nil || wal.Size() < c.walLimit {
		return
	}
	c.beginAnew(100)
}

// forgetRest is how many sweeps pass after readers have kept the log from being
// begun anew: a try makes writers wait.
const forgetRest = 2

// forget begins the log anew soon after something was erased: it still holds
// what the file no longer does. It goes with the sweeps, so that one time does
// for all that was erased since the last one.
func (c *committer) forget(batch []*commit.Call) {
	sweep := slices.ContainsFunc(batch, func(call *commit.Call) bool { return call.Lane == store.LaneSweeps })
	if !sweep || !c.erased.Load() {
		return
	}
	if c.rest > 0 {
		c.rest--
		return
	}
	if c.beginAnew(100) {
		c.erased.Store(false)
	} else {
		c.rest = forgetRest
	}
}

// beginAnew folds the log into the file and empties it, waiting at most that
// many milliseconds for the reads under way, and unless that is 0 for the folder; it
// tells whether it could.
func (c *committer) beginAnew(patience int) bool {
	if patience > 0 {
		c.folder.working.Lock()
	} else if !c.folder.working.TryLock() {
		return false
	}
	defer c.folder.working.Unlock()
	v := view{conn: c.conn, ctx: context.Background()}
	var busy, frames, folded int64
	_, err := v.exec("PRAGMA busy_timeout = " + strconv.Itoa(patience))
	if err == nil {
		_, err = v.one("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, &frames, &folded)
	}
	if _, resetErr := v.exec("PRAGMA busy_timeout = 10000"); err == nil {
		err = resetErr
	}
	if err != nil {
		c.logger.Warn("the write-ahead log could not be begun anew", "err", err)
	}
	return err == nil && busy == 0
}
