package sqlite

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/perdure/perdure/internal/store/sqlite/lock"
)

// Restore replaces the store at path by a backup. No process may have the store open. If mayReplace
// is set, an existing store is kept under an unused name that begins with `path` and ".replaced-".
// If Restore is interrupted, the next Open opens either the complete old store or the complete
// restored store: see replace. Errors: conflict if there is a store and mayReplace is false,
// internal if the backup is damaged, invalid_argument if the backup is not a store.
func Restore(ctx context.Context, backup, path string, mayReplace bool) error {
	if err := checkBackup(ctx, backup); err != nil {
		return err
	}
	if err := finishReplacing(path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil && !mayReplace {
		return perdure.Errorf(perdure.Conflict, "there is a store at %s already", path)
	}
	if err := refuseInUse(path); err != nil {
		return err
	}
	part := path + ".part"
	if err := copyFile(backup, part); err != nil {
		return errors.Join(err, removeStore(part))
	}
	if err := renewEpoch(ctx, part); err != nil {
		return errors.Join(err, removeStore(part))
	}
	if err := replace(part, path); err != nil {
		return errors.Join(err, removeStore(part))
	}
	return nil
}

// refuseInUse returns an error with code unavailable if a server has the file open, under any name.
func refuseInUse(path string) error {
	held, err := lock.Take(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return held.Release()
}

// checkBackup returns an error if the file is not an intact backup. It refuses a file that has a log
// beside it: such a file is a store in use, or a copy of one.
func checkBackup(ctx context.Context, backup string) error {
	if _, err := os.Stat(backup); err != nil {
		return &perdure.Error{Code: perdure.InvalidArgument, Message: "the backup cannot be read", Err: err}
	}
	if wal, err := os.Stat(backup + "-wal"); err == nil && wal.Size() > 0 {
		return perdure.Errorf(perdure.InvalidArgument, "beside %s is a write-ahead log, so it is no backup but a store in use; perdure store backup makes one of it", backup)
	}
	if err := checkFile(ctx, backup); err != nil {
		return openFailure(backup, err)
	}
	c, err := connection.Open(ctx, backup, connection.Reading)
	if err != nil {
		return openFailure(backup, err)
	}
	_, err = c.With(ctx).One("SELECT epoch FROM store WHERE id = 1", nil, new(int64))
	if err != nil {
		err = &perdure.Error{Code: perdure.InvalidArgument, Message: backup + " is no store", Err: err}
	}
	return errors.Join(err, c.Close())
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := errors.Join(removeStore(to), makeFile(to)); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
