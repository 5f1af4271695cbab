package connection

import (
	"context"
	"errors"
	"net/url"

	"github.com/perdure/perdure/internal/sqlitelog"
	lib "modernc.org/sqlite/lib"
)

// OpenQuietPool opens a pool with one connection that, if possible, writes nothing. With this pool,
// a store can be read on a full disk. A normal reader needs disk space: the first connection to a
// database creates a file for the memory that all connections share. If no other process has the
// database open, the quiet connection keeps this memory private. If that is not possible,
// OpenQuietPool opens a normal reader.
func OpenQuietPool(ctx context.Context, path string) (*Pool, error) {
	if err := sqlitelog.ProvideShared(path); err != nil {
		return openReadable(ctx, path, Reading) // the reason may be, for example, a read-only folder
	}
	p, err := openReadable(ctx, dsnReading(path), Reading|lib.SQLITE_OPEN_URI)
	if err == nil {
		return p, nil
	}
	if loud, failed := openReadable(ctx, path, Reading); failed == nil {
		return loud, nil
	}
	return nil, err
}

// openReadable opens a pool with one connection and reads the schema, because only then does SQLite
// notice that a file is not a database.
func openReadable(ctx context.Context, path string, mode Access) (*Pool, error) {
	p, err := openPoolAs(ctx, path, mode, 1)
	if err != nil {
		return nil, err
	}
	err = p.Read(ctx, func(v View) error {
		_, err := v.One("SELECT count(*) FROM sqlite_schema", nil, new(int))
		return err
	})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// dsnReading returns the data source name for opening a file without writing its shared memory.
func dsnReading(path string) string {
	return DSN(path, url.Values{"readonly_shm": {"1"}})
}
