package sqlite

import (
	"context"
	"os"
)

const (
	// walLimit is how large the write-ahead log may grow before the committer
	// insists. SQLite folds it into the file by itself, but can begin it anew
	// only at a moment without readers, which under load may be long in coming.
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
	v := view{c.conn, context.Background()}
	for _, pragma := range []string{"PRAGMA busy_timeout = 100", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA busy_timeout = 10000"} {
		if _, err := v.exec(pragma); err != nil {
			c.logger.Warn("the write-ahead log could not be begun anew", "err", err)
		}
	}
}

// fold writes the write-ahead log back into the file, which only then is as
// short as the pages that were given back make it. It waits for nobody: where a
// read is in the way, the next one does it.
func (c *committer) fold() {
	v := view{c.conn, context.Background()}
	for _, pragma := range []string{"PRAGMA busy_timeout = 0", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA busy_timeout = 10000"} {
		if _, err := v.exec(pragma); err != nil {
			c.logger.Warn("the write-ahead log could not be folded", "err", err)
		}
	}
}
