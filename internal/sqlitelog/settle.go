// Package sqlitelog makes the content of a SQLite file's write-ahead log durable after a start,
// before anything is written.
//
// When an fsync fails, the kernel may mark the pages that it could not write as clean. Such pages
// can still be read until the machine loses power, but no later fsync writes them. SQLite treats
// the content of such pages in its log as committed, and appends to the log. After a power failure
// the log ends where these pages begin, and everything after them is lost.
package sqlitelog

import (
	"errors"
	"os"
	"path/filepath"
)

// Settle rewrites the write-ahead log of the database at path in place, and syncs it. Then it
// copies the log's pages into the database (a checkpoint) and empties the log. No other process may
// write to the database. Without a log, Settle changes only a database that was just created.
//
// The log is rewritten first, because a checkpoint is safe only if the whole log is durable.
// Otherwise a power failure after the checkpoint could leave a file with the newest pages and a log
// with older ones, from which SQLite would read.
//
// The error contains SQLite's result code (see [Failure]). It is SQLITE_BUSY if the log cannot be
// emptied because of another process.
func Settle(path string) error { return settle(path, false) }

// SettleAlone does the same as Settle, but without SQLite's shared memory, a file that needs space
// on the disk. It fails with SQLITE_BUSY if another process has the database open.
func SettleAlone(path string) error { return settle(path, true) }

func settle(path string, alone bool) error {
	needed, err := isNeeded(path)
	if err != nil || !needed {
		return err
	}
	c, err := open(path)
	if err != nil {
		return err
	}
	return errors.Join(c.settle(alone), c.close())
}

// pageSize is the page size of all databases of this program, in bytes.
const pageSize = 4096

// isNeeded reports whether Settle has anything to do: there is a write-ahead log, or the database
// file has at most one page, as after a failed start.
func isNeeded(path string) (bool, error) {
	main, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	log, err := LogSize(path)
	return log > 0 || (main.Size() > 0 && main.Size() <= pageSize), err
}

// LogSize returns the size of the write-ahead log of the database at path; 0 if there is none. If
// path is a symbolic link, the log is next to the target of the link.
func LogSize(path string) (int64, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0, err
	}
	log, err := os.Stat(real + "-wal")
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return log.Size(), nil
}

func (c *conn) settle(alone bool) error {
	if alone {
		if err := c.run("PRAGMA locking_mode = exclusive"); err != nil {
			return err
		}
	}
	if err := c.run("SELECT count(*) FROM sqlite_schema"); err != nil { // opens and recovers the log
		return err
	}
	for _, step := range []func() error{c.rewriteNew, c.rewriteLog, c.fold, c.syncLog} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// rewriteNew rewrites a database of at most one page. The start that created this page may have
// failed before the page was durable.
func (c *conn) rewriteNew() error {
	main, err := c.mainFile()
	if err != nil {
		return err
	}
	size, err := c.size(main)
	if err != nil || size > pageSize {
		return err
	}
	return c.rewrite(main, size)
}

func (c *conn) rewriteLog() error {
	log, err := c.logFile()
	if err != nil || log == 0 {
		return err
	}
	size, err := c.size(log)
	if err != nil {
		return err
	}
	return c.rewrite(log, size)
}

// syncLog syncs the emptied log. Otherwise a power failure could bring back the old log next to a
// database with newer content.
func (c *conn) syncLog() error {
	log, err := c.logFile()
	if err != nil || log == 0 {
		return err
	}
	return c.sync(log)
}
