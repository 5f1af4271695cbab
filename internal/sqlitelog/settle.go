// Package sqlitelog makes what the write-ahead log of a SQLite file holds durable
// before anything is written after a start.
//
// When an fsync fails, the kernel may mark the pages as clean that it could not
// write: they are read as they were written until the machine loses power, and no
// later fsync writes them. SQLite recovers its log from those pages, takes what is
// in them as committed, and appends. After a loss of power its log ends where the
// lost pages begin, and all that was appended is lost.
package sqlitelog

import (
	"errors"
	"os"
	"path/filepath"
)

// Settle rewrites the log of the database at path in place, syncs it, folds it into
// the database and empties it. The caller must own the database: nobody else writes
// to it. A database without a log is left alone, but for one that was just created.
//
// The log is written again first because folding it is safe only while all of it is
// durable: a loss of power between the two would lead to a file with the newest
// pages and a log with older ones, of which SQLite reads the log's.
//
// The error has SQLite's result code (see [Failure]); it is SQLITE_BUSY while
// another process keeps the log from being emptied.
func Settle(path string) error { return settle(path, false) }

// SettleAlone is Settle without the shared memory of other processes, which needs
// room on the disk. It fails with SQLITE_BUSY if another process has the file open.
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

// pageSize is that of every database of this program.
const pageSize = 4096

// isNeeded reports whether there is a log, or whether the file may have been created
// by a start that failed: only then can it be not durable itself.
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

// LogSize returns how long the log's file of the database at path is, 0 if there is
// none. SQLite looks for it beside the file that a symbolic link leads to.
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
	if err := c.run("SELECT count(*) FROM sqlite_schema"); err != nil { // it opens the log, and recovers it
		return err
	}
	for _, step := range []func() error{c.rewriteNew, c.rewriteLog, c.fold, c.syncLog} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// rewriteNew rewrites a database of one page, which a start that failed may have left.
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

// syncLog makes it durable that the log was emptied: else the old log may be there
// after a loss of power, beside a file that continues.
func (c *conn) syncLog() error {
	log, err := c.logFile()
	if err != nil || log == 0 {
		return err
	}
	return c.sync(log)
}
