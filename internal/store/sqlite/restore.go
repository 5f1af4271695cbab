package sqlite

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/perdure/perdure"
)

// Restore puts a backup in the place of the store at path, which nobody has open.
// A store that is there is kept under another name, beginning with path and
// .replaced, if replace allows it. Errors:
// conflict if there is a store and replace is false, internal if the backup is
// damaged, invalid_argument if it is no store.
func Restore(ctx context.Context, backup, path string, replace bool) error {
	if err := checkBackup(ctx, backup); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !replace {
		return perdure.Errorf(perdure.Conflict, "there is a store at %s already", path)
	}
	part := path + ".part"
	if err := copyFile(backup, part); err != nil {
		return errors.Join(err, remove(part))
	}
	if err := renewEpoch(ctx, part); err != nil {
		return errors.Join(err, remove(part))
	}
	if err := putAside(path); err != nil { // also a log that lost its store
		return errors.Join(err, remove(part))
	}
	return settle(part, path)
}

// checkBackup opens a backup to look at it. The name of one that is in use, or
// was copied from below a server, is that of a file with a log beside it.
func checkBackup(ctx context.Context, backup string) error {
	if _, err := os.Stat(backup); err != nil {
		return &perdure.Error{Code: perdure.InvalidArgument, Message: "the backup cannot be read", Err: err}
	}
	if wal, err := os.Stat(backup + "-wal"); err == nil && wal.Size() > 0 {
		return perdure.Errorf(perdure.InvalidArgument, "beside %s is a write-ahead log, so it is no backup but a store in use; perdure store backup makes one of it", backup)
	}
	if err := checkFile(ctx, backup); err != nil {
		return err
	}
	c, err := openConn(ctx, backup, reading)
	if err != nil {
		return err
	}
	_, err = view{conn: c, ctx: ctx}.one("SELECT epoch FROM store WHERE id = 1", nil, new(int64))
	if err != nil {
		err = &perdure.Error{Code: perdure.InvalidArgument, Message: backup + " is no store", Err: err}
	}
	return errors.Join(err, c.close())
}

// putAside gives a store, and the log that belongs to it, another name.
func putAside(path string) error {
	aside := path + ".replaced-" + time.Now().UTC().Format("20060102T150405Z")
	for _, part := range []string{"", "-wal"} {
		if err := os.Rename(path+part, aside+part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return remove(path + "-shm")
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := errors.Join(remove(to), makeFile(to)); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
