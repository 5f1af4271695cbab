package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// Backup writes a compact copy of the store at path to a new file. Servers may write to the store
// meanwhile; the copy contains the store as it was at one moment. The copy has another epoch, so
// that cursors of the store are not valid in a restored copy. The file appears at the path `to`
// only when it is complete and durable. About once a second, Backup calls `told` with the number of
// bytes written so far and the approximate total. Errors: not_found if there is no store at path,
// conflict if a file exists at the path `to`.
func Backup(ctx context.Context, path, to string, told func(bytes, about int64)) error {
	if err := refuseHalfReplaced(path); err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return perdure.Errorf(perdure.NotFound, "there is no store at %s", path)
	}
	switch _, err := os.Lstat(to); {
	case err == nil:
		return perdure.Errorf(perdure.Conflict, "%s is there already; give another name", to)
	case !errors.Is(err, fs.ErrNotExist):
		return &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot write " + to, Err: err}
	}
	part := to + ".part"
	if err := errors.Join(removeStore(part), makeFile(part)); err != nil {
		return &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot write " + part, Err: err}
	}
	err := vacuumInto(ctx, path, part, told)
	if err == nil {
		err = renewEpoch(ctx, part)
	}
	if err == nil {
		err = checkFile(ctx, part)
	}
	if err == nil {
		err = settle(part, to)
	}
	if err != nil {
		return errors.Join(connection.Refusal(err), removeStore(part))
	}
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func vacuumInto(ctx context.Context, path, part string, told func(bytes, about int64)) error {
	c, err := connection.Open(ctx, path, connection.Writing)
	if err != nil {
		return err
	}
	v := c.With(ctx)
	var pages, free, size int64
	for _, asked := range []struct {
		pragma string
		n      *int64
	}{{"page_count", &pages}, {"freelist_count", &free}, {"page_size", &size}} {
		if _, err := v.One("PRAGMA "+asked.pragma, nil, asked.n); err != nil {
			return errors.Join(err, c.Close())
		}
	}
	if err := checkPlace(v); err != nil {
		return errors.Join(err, c.Close())
	}
	watched := watch(part, func(bytes int64) { told(bytes, max(bytes, (pages-free)*size)) })
	_, err = v.Run("VACUUM INTO ?", part)
	watched()
	return errors.Join(err, c.Close())
}

// watch calls `told` with the size of a file once a second, in a goroutine. The returned function
// ends the calls, after one last call.
func watch(path string, told func(bytes int64)) (end func()) {
	stop, ended := make(chan struct{}), make(chan struct{})
	tell := func() {
		if f, err := os.Stat(path); err == nil {
			told(f.Size())
		}
	}
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				tell()
			case <-stop:
				tell()
				return
			}
		}
	}()
	return func() { close(stop); <-ended }
}

// settle syncs the complete file `part`, and renames it to the path `to`, durably.
func settle(part, to string) error {
	for _, step := range []func() error{
		func() error { return flush(part) },
		func() error { return os.Rename(part, to) },
		func() error { return flush(filepath.Dir(to)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func flush(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// checkFile runs SQLite's quick check on a file. If the file is damaged, it returns an error.
func checkFile(ctx context.Context, path string) error {
	c, err := connection.Open(ctx, path, connection.Reading)
	if err != nil {
		return damaged(path, err)
	}
	return errors.Join(check(ctx, path, c), c.Close())
}

// renewEpoch sets a new epoch in the store at path. No other process may have the store open.
func renewEpoch(ctx context.Context, path string) error {
	c, err := connection.Open(ctx, path, connection.Writing, "synchronous(full)")
	if err != nil {
		return err
	}
	_, err = c.With(ctx).Run("UPDATE store SET epoch = ? WHERE id = 1", randomEpoch())
	return errors.Join(err, c.Close())
}

// randomEpoch returns 64 random bits in the form in which SQLite stores them.
func randomEpoch() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.BigEndian.Uint64(b[:]))
}
