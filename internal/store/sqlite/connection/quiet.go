package connection

import (
	"context"
	"errors"
	"net/url"

	"github.com/perdure/perdure/internal/sqlitelog"
	lib "modernc.org/sqlite/lib"
)

// OpenQuietPool opens a pool with one connection that if possible writes nothing, so that a store
// can be read on a full disk. Normal readers share memory with other connections, in a file that
// the first one creates and that needs disk space. If nobody else has the database open, this
// connection keeps that memory private. If that fails, openQuietPool opens a normal reader.
func OpenQuietPool(ctx context.Context, path string) (*Pool, error) {
	if err := sqlitelog.ProvideShared(path); err != nil {
		return OpenPool(ctx, path, 1) // for example, a read-only folder
	}
	p, err := openPoolAs(ctx, dsnReading(path), Reading|lib.SQLITE_OPEN_URI, 1)
	if err == nil {
		if err = p.Read(ctx, func(v View) error {
			_, err := v.One("SELECT count(*) FROM sqlite_schema", nil, new(int))
			return err
		}); err == nil {
			return p, nil
		}
		err = errors.Join(err, p.Close())
	}
	if loud, failed := OpenPool(ctx, path, 1); failed == nil {
		return loud, nil
	}
	return nil, err
}

// dsnReading returns the data source name of a file whose shared memory is not written.
func dsnReading(path string) string {
	return DSN(path, url.Values{"readonly_shm": {"1"}})
}
