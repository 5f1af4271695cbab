package sqlite

import (
	"context"
	"slices"
	"strconv"

	"github.com/perdure/perdure/internal/sqlitelog"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/commit"
)

// walLimit is the maximum size of the write-ahead log, in bytes. Checkpoints run long before the
// log has this size, but the log can be reset only at a moment without readers, which may come
// late. Writes are refused while the log is at the limit.
const walLimit = 256 << 20

// logSize returns the size of the log file in bytes. The file may be longer than the log's content.
func logSize(path string) (int64, error) { return sqlitelog.LogSize(path) }

// forgetRest is the number of sweeps to skip after readers have prevented a reset of the log,
// because each attempt makes writers wait.
const forgetRest = 2

// forget resets the log if it still contains data that was erased. It does so only after a batch
// with a sweep, so that one reset removes all data that was erased since the last reset.
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

// beginAnew checkpoints the log into the file and truncates the log. It reports whether that has
// succeeded. The parameter `patience` is how long beginAnew waits for running reads, in
// milliseconds. Unless `patience` is 0, beginAnew first waits for a running pass of the
// checkpointer, without a limit.
func (c *committer) beginAnew(patience int) bool {
	if patience > 0 {
		c.checkpointer.working.Lock()
	} else if !c.checkpointer.working.TryLock() {
		return false
	}
	defer c.checkpointer.working.Unlock()
	v := c.conn.With(context.Background())
	var busy, frames, checkpointed int64
	_, err := v.Run("PRAGMA busy_timeout = " + strconv.Itoa(patience))
	if err == nil {
		_, err = v.One("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, &frames, &checkpointed)
	}
	if _, resetErr := v.Run("PRAGMA busy_timeout = 10000"); err == nil {
		err = resetErr
	}
	if err != nil {
		c.checkpointFailed(err)
		return false
	}
	if busy != 0 {
		return false
	}
	c.conn.ClearLogPages()
	return true
}
