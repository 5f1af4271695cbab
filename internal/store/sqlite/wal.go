package sqlite

import (
	"context"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/sqlitelog"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
)

// walLimit is the maximum size of the write-ahead log, in bytes. Checkpoints run earlier
// ([committer.fold]), but the log can be reset only at a moment without readers, which may take
// long. At the limit, nothing is written until then.
const walLimit = 256 << 20

// logSize returns the size of the log file, which may be larger than its content.
func logSize(path string) (int64, error) { return sqlitelog.LogSize(path) }

// forgetRest is the number of sweeps to skip after readers have prevented a reset of the log: an
// attempt makes writers wait.
const forgetRest = 2

// forget resets the log soon after data was erased, because the log still contains that data. It
// does so together with the sweeps, so that one reset serves everything that was erased since the
// last one.
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

// beginAnew checkpoints the log into the file and empties it. It waits at most patience
// milliseconds for running reads, and, unless that is 0, also for a running pass of the folder. It
// reports whether it has succeeded.
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
