package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/sqlitelog"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	lib "modernc.org/sqlite/lib"
)

// refuseForeign returns an error if the file at path is the database of another program. It is
// called before anything is written, and writes nothing. It does not open a file that a store has
// already opened in this folder (see noticeRestore). Nor does it check a file with a write-ahead
// log, because a connection that writes nothing does not read the log; [relabel] checks such a file
// later.
func refuseForeign(ctx context.Context, path string) error {
	file, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && file.Size() == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if marks, err := marksOf(path); err != nil || len(marks) > 0 {
		return err
	}
	if size, err := sqlitelog.LogSize(path); err != nil || size > 0 {
		return err
	}
	c, err := connection.Open(ctx, connection.DSN(path, url.Values{"immutable": {"1"}}), connection.Reading|lib.SQLITE_OPEN_URI)
	if err != nil {
		return nil // the writer fails in the same way, and its error says what to do
	}
	var labels, tables int64
	if _, err := c.With(ctx).One(labelsOf, nil, &labels, &tables); err == nil && isForeign(labels, tables) {
		return errors.Join(foreign(path), c.Close())
	}
	return c.Close()
}

// isForeign reports whether a database belongs to another program: it has tables, but none of them
// is goose's table of versions.
func isForeign(labels, tables int64) bool { return labels == 0 && tables > 0 }

// foreign returns the error for a file that is the database of another program.
func foreign(path string) error {
	return perdure.Errorf(perdure.InvalidArgument, "%s is the database of another program, and no store; move it away, or use another data directory", path)
}
