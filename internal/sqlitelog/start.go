package sqlitelog

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/internal/disk"
	lib "modernc.org/sqlite/lib"
)

// FullError reports that the disk is too full for a start.
type FullError struct {
	// Missing is the number of bytes that must become free on the disk.
	Missing int64
	err     error
}

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("the disk is full: %d bytes more must be free for the write-ahead log to be folded into the file", e.Missing)
}

// Unwrap returns SQLite's error.
func (e *FullError) Unwrap() error { return e.err }

// Start calls Settle for the database at path. On a full disk it releases the disk reserve, if
// there is one, and calls SettleAlone, which needs less space. If the disk is still full, the error
// is a [*FullError].
func Start(path string, reserve *disk.Reserve) error {
	if reserve.Low() {
		reserve.Release()
	}
	err := Settle(path)
	if !isFull(err) {
		return err
	}
	reserve.Release()
	if err = SettleAlone(path); !isFull(err) {
		return err
	}
	full := &FullError{Missing: 1, err: err}
	if need, err := needed(path); err == nil && reserve != nil {
		if free, err := reserve.Free(); err == nil {
			full.Missing = max(1, need-free)
		}
	}
	return full
}

// isFull reports whether err means that the disk has no space for a file or for the shared memory.
func isFull(err error) bool {
	var failure *Failure
	return errors.As(err, &failure) && (failure.code&0xff == lib.SQLITE_FULL || failure.code == lib.SQLITE_IOERR_SHMSIZE)
}

// needed returns the number of bytes by which a checkpoint of the write-ahead log extends the
// database file.
func needed(path string) (int64, error) {
	c, err := open(path)
	if err != nil {
		return 0, err
	}
	need, err := c.needed()
	return need, errors.Join(err, c.close())
}

func (c *conn) needed() (int64, error) {
	if err := c.run("PRAGMA locking_mode = exclusive"); err != nil {
		return 0, err
	}
	pages, err := c.number("PRAGMA page_count")
	if err != nil {
		return 0, err
	}
	main, err := c.mainFile()
	if err != nil {
		return 0, err
	}
	size, err := c.size(main)
	return max(0, pages*pageSize-size), err
}
