package sqlite

import (
	"context"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/sqlitelog"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
)

// walLimit is how large the write-ahead log may grow. It is folded into the file
// before ([committer.fold]), but can be started again only at a moment without readers,
// which may be long in coming; at the limit nothing is written until then.
const walLimit = 256 << 20

// logSize is that of the file, which may be longer than what is in it.
func logSize(path string) (int64, error) { return sqlitelog.LogSize(path) }

// forgetRest is how many sweeps pass after readers have kept the log from being
// started again: a try makes writers wait.
const forgetRest = 2

// forget begins the log again soon after something was erased: it still holds
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
// reports whether it could.
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
		c.notFolded(err)
		return false
	}
	if busy != 0 {
		return false
	}
	c.conn.noPages()
	return true
}
