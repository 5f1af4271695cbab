package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/read"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// ReadOnly is a store that is opened only for reading. A server may have it open at the same time.
type ReadOnly struct {
	read.Reader
	pool  *connection.Pool
	epoch uint64
}

// OpenReadOnly opens the store at path for reading. Errors: not_found if there is no store, conflict
// if its tables have another version than this program, internal if the file is damaged, invalid_argument
// if it is the database of another program.
func OpenReadOnly(ctx context.Context, path string) (*ReadOnly, error) {
	if err := refuseHalfReplaced(path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, perdure.Errorf(perdure.NotFound, "there is no store at %s", path)
	}
	p, err := connection.OpenQuietPool(ctx, path)
	if err != nil {
		return nil, connection.Refusal(openFailure(path, damaged(path, err)))
	}
	l := &ReadOnly{Reader: read.New(base.Source{Tx: p.ReadRows, Clock: time.Now, Dialect: dialect}), pool: p}
	err = p.Read(ctx, func(v connection.View) error {
		if err := checkVersion(v, path); err != nil {
			return err
		}
		var epoch int64
		_, err := v.One("SELECT epoch FROM store WHERE id = 1", nil, &epoch)
		l.epoch = uint64(epoch)
		return err
	})
	if err != nil {
		return nil, errors.Join(connection.Refusal(openFailure(path, damaged(path, err))), p.Close())
	}
	return l, nil
}

// Epoch returns the store's epoch. For a restored file, it returns the old epoch, until a server
// has opened the file and renewed the epoch.
func (l *ReadOnly) Epoch() uint64 { return l.epoch }

// checkVersion returns an error if the tables have another version than the tables that this
// program reads, or if the file at path is the database of another program.
func checkVersion(v connection.View, path string) error {
	var labels, tables int64
	if _, err := v.One(labelsOf, nil, &labels, &tables); err != nil {
		return err
	}
	switch {
	case isForeign(labels, tables):
		return foreign(path)
	case labels == 0:
		return perdure.Errorf(perdure.NotFound, "there is no store at %s: the file has no tables", path)
	}
	var has int64
	if _, err := v.One("SELECT max(version_id) FROM goose_db_version", nil, &has); err != nil {
		return err
	}
	newest, err := newestVersion()
	if err != nil {
		return err
	}
	if has == newest {
		return nil
	}
	if has < firstVersion {
		return store.TooOld(has, firstVersion)
	}
	return perdure.Errorf(perdure.Conflict, "the database has version %d, this program reads version %d; start a server of this program on it first", has, newest)
}

// Integrity reads every page of the file and returns the damage that it finds. The result is empty
// if the file is intact.
func (l *ReadOnly) Integrity(ctx context.Context) (damage []string, err error) {
	err = l.pool.Read(ctx, func(v connection.View) error {
		return v.Rows("PRAGMA integrity_check(20)", nil, func(row func(...any) error) error {
			var line string
			if err := row(&line); err != nil {
				return err
			}
			if line != "ok" {
				damage = append(damage, line)
			}
			return nil
		})
	})
	if connection.IsBroken(err) {
		return append(damage, err.Error()), nil
	}
	return damage, err
}

// Close closes the connections.
func (l *ReadOnly) Close() error { return l.pool.Close() }
