package server

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/pagecheck"
	"github.com/perdure/perdure/internal/store/check"
	"github.com/perdure/perdure/internal/store/postgres"
	"github.com/perdure/perdure/internal/store/sqlite"
	"github.com/perdure/perdure/internal/store/transfer"
)

// storeFile is the store's name in a data directory.
const storeFile = "perdure.db"

// StoreFile returns the path of the embedded store in a data directory.
func StoreFile(data string) string { return filepath.Join(data, storeFile) }

// These types are the progress and the results of CopyStore and CheckStore.
type (
	// CopyProgress is the progress of CopyStore in one table.
	CopyProgress = transfer.Progress
	// CopyResult is what CopyStore has copied.
	CopyResult = transfer.Result
	// CheckResult counts what CheckStore has read.
	CheckResult = check.Result
	// CheckFinding is one fault in a store that CheckStore has found.
	CheckFinding = check.Finding
)

// StepCompare is the step of CopyStore that reads source and destination again and compares them.
const StepCompare = transfer.StepCompare

// CopyConfig names the source and the destination of a copy.
type CopyConfig struct {
	// From is the file of an embedded store. No process may own the data directory that contains
	// the file.
	From string
	// To is the URL of a PostgreSQL database that contains no store.
	To string
	// Keep keeps the source usable after the copy. The copy then has another epoch, so that cursors of
	// the source do not match the logs of the copy.
	Keep   bool
	Logger *slog.Logger
	// Told is called again and again with the progress of the copy.
	Told func(CopyProgress)
}

// CopyStore copies an embedded store into a PostgreSQL database, where runs continue from their
// current state. Unless Keep is set, no server can open the source after the copy. CopyStore may be
// interrupted at any time and called again. The error is an *OwnedError while a process owns the
// data directory.
func CopyStore(ctx context.Context, c CopyConfig) (_ *CopyResult, err error) {
	if to := (Config{Store: c.To}); !to.shared() {
		return nil, invalidStoreURL()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	free, err := alone(c.From)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, free()) }()
	return transfer.Copy(ctx, transfer.Options{
		From: c.From, To: c.To, ToName: nameOf(c.To), Keep: c.Keep, Told: c.Told, Now: perdure.At(time.Now()),
		Prepare: func(ctx context.Context) error { return prepare(ctx, c) },
	})
}

// alone locks the data directory of a store file until `free` is called. A file with another name
// than storeFile is a backup outside a data directory; for it, alone locks nothing.
func alone(file string) (free func() error, err error) {
	if filepath.Base(file) != storeFile {
		return func() error { return nil }, nil
	}
	lock, err := own(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	return lock.release, nil
}

// prepare migrates the tables of the source, and releases the leases of workers that ran in the
// process of the source's server.
func prepare(ctx context.Context, c CopyConfig) error {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: c.From, Logger: c.Logger})
	if err != nil {
		return err
	}
	return errors.Join(engine.New(engine.Config{Store: s, Logger: c.Logger}).ReturnEmbedded(ctx), s.Close())
}

// nameOf returns the URL of a database without its user, password and settings, for messages.
func nameOf(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return "PostgreSQL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// BackupStore writes a copy of an embedded store to a new file. A server may use the store at the
// same time. The function `told` is called with the bytes written and the approximate total.
func BackupStore(ctx context.Context, file, to string, told func(bytes, about int64)) error {
	return sqlite.Backup(ctx, file, to, told)
}

// RestoreStore puts a backup in the place of the embedded store at the path `file`. If that file
// exists, RestoreStore renames and keeps it if `replace` is true, and returns an error otherwise. The
// error is an *OwnedError while a process owns the data directory.
func RestoreStore(ctx context.Context, backup, file string, replace bool) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot make the data directory", Err: err}
	}
	free, err := alone(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, free()) }()
	return sqlite.Restore(ctx, backup, file, replace)
}

// CheckStore reads a whole store, named by a PostgreSQL URL or a file, and passes each fault to the
// function `found`. Servers may use the store at the same time.
func CheckStore(ctx context.Context, store string, told func(CheckResult), found func(CheckFinding)) (CheckResult, error) {
	look, err := openReadOnlyStore(ctx, store)
	if err != nil {
		return CheckResult{}, err
	}
	damage, err := look.Integrity(ctx)
	if err != nil {
		return CheckResult{}, errors.Join(err, look.Close())
	}
	for _, line := range damage {
		found(CheckFinding{What: "the file is damaged: " + strings.TrimSpace(line)})
	}
	result, err := check.Run(ctx, look, told, found)
	result.Findings += int64(len(damage))
	return result, errors.Join(err, look.Close())
}

// StoreNeedsCheck reports whether an embedded store may be damaged. The result `unchecked` says
// that the store was not closed cleanly and no server has completed a check since. `unchecked` is
// false while a process that owns the data directory uses the store. The result `damaged` says that
// the last check found damage.
func StoreNeedsCheck(file string) (unchecked, damaged bool, err error) {
	state, err := pagecheck.MarkOf(file).Read()
	if err != nil || state == pagecheck.Checked {
		return false, false, err
	}
	if state == pagecheck.Open && isOwned(filepath.Dir(file)) {
		return false, false, nil
	}
	return true, state == pagecheck.Damaged, nil
}

// readOnlyStore is a store that is opened for reading only.
type readOnlyStore interface {
	check.Reader
	Integrity(ctx context.Context) (damage []string, err error)
	Close() error
}

func openReadOnlyStore(ctx context.Context, store string) (readOnlyStore, error) {
	if c := (Config{Store: store}); c.shared() {
		l, err := postgres.OpenReadOnly(ctx, store)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	l, err := sqlite.OpenReadOnly(ctx, store)
	if err != nil {
		return nil, err
	}
	return l, nil
}
