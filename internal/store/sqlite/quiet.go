package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	lib "modernc.org/sqlite/lib"
)

// openQuietPool opens a connection that writes nothing, so that a store can be read on
// a full disk. Readers otherwise share memory with the others, in a file that the first
// one makes and that needs room; where nobody else has the database open, this one
// keeps that memory for itself.
func openQuietPool(ctx context.Context, path string) (*pool, error) {
	if err := provideShared(path); err != nil {
		return openPool(ctx, path, 1) // a folder that is only read, for one
	}
	p, err := openPoolAs(ctx, dsnReading(path), reading|lib.SQLITE_OPEN_URI, 1)
	if err == nil {
		if err = p.read(ctx, func(v view) error {
			_, err := v.one("SELECT count(*) FROM sqlite_schema", nil, new(int))
			return err
		}); err == nil {
			return p, nil
		}
		err = errors.Join(err, p.close())
	}
	if loud, failed := openPool(ctx, path, 1); failed == nil {
		return loud, nil
	}
	return nil, err
}

// dsnReading names a file whose shared memory is not written.
func dsnReading(path string) string {
	return dsn(path, url.Values{"readonly_shm": {"1"}})
}

// provideShared makes an empty file for the memory that is shared: SQLite wants to see
// one. One that is there is not opened, for to close it would drop the locks that this
// process has on it.
func provideShared(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	shared := real + "-shm"
	if _, err := os.Lstat(shared); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(shared, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}
