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

// storeFile is the store of a data directory.
const storeFile = "perdure.db"

// StoreFile is where the embedded store of a data directory is.
func StoreFile(data string) string { return filepath.Join(data, storeFile) }

// The words of a copy's progress and of what a check found.
type (
	// CopyProgress says how far a table is.
	CopyProgress = transfer.Progress
	// CopyResult says what a copy came to.
	CopyResult = transfer.Result
	// CheckResult says what a check has read.
	CheckResult = check.Result
	// CheckFinding is something that is wrong in a store.
	CheckFinding = check.Finding
)

// StepCompare is the step of a copy in which both sides are read and compared.
const StepCompare = transfer.StepCompare

// CopyConfig says what store is copied where.
type CopyConfig struct {
	// From is the file of an embedded store. No process may own its data directory.
	From string
	// To is the URL of a PostgreSQL database in which nothing is stored.
	To string
	// Keep leaves the source in use, and the copy is another store to its readers.
	Keep   bool
	Logger *slog.Logger
	// Told is told how far the copy is.
	Told func(CopyProgress)
}

// CopyStore copies an embedded store into a PostgreSQL database, where runs continue
// from where they are; the source is closed for good, unless it is kept. It may be
// ended at any moment, and called again. The error is an *OwnedError while a
// process owns the data directory.
func CopyStore(ctx context.Context, c CopyConfig) (_ *CopyResult, err error) {
	if to := (Config{Store: c.To}); !to.shared() {
		return nil, notStore()
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

// alone takes the data directory that a store belongs to. A file of another name
// is a backup, and belongs to none.
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

// prepare brings the source up to date, and gives back what workers held that
// lived inside its server.
func prepare(ctx context.Context, c CopyConfig) error {
	s, err := sqlite.Open(ctx, sqlite.Options{Path: c.From, Logger: c.Logger})
	if err != nil {
		return err
	}
	return errors.Join(engine.New(engine.Config{Store: s, Logger: c.Logger}).ReturnEmbedded(ctx), s.Close())
}

// nameOf names a database for people: its URL without user, password and
// settings.
func nameOf(database string) string {
	u, err := url.Parse(database)
	if err != nil {
		return "PostgreSQL"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// BackupStore writes a copy of an embedded store to a new file, while a server
// may use it. told is given the bytes written and about how many there will be.
func BackupStore(ctx context.Context, file, to string, told func(bytes, about int64)) error {
	return sqlite.Backup(ctx, file, to, told)
}

// RestoreStore puts a backup in the place of a data directory's store. One that
// is there is kept under another name, if replace allows it. The error is an
// *OwnedError while a process owns the data directory.
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

// CheckStore reads a whole store, that of a PostgreSQL URL or of a file, and tells
// what in it is wrong. Servers may use it meanwhile.
func CheckStore(ctx context.Context, store string, told func(CheckResult), found func(CheckFinding)) (CheckResult, error) {
	look, err := openLook(ctx, store)
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

// StoreUnchecked reports whether the embedded store in a file was not closed in order
// and has not passed the check of a server since. damaged reports whether the last one
// found damage.
func StoreUnchecked(file string) (unchecked, damaged bool, err error) {
	state, err := pagecheck.MarkOf(file).Read()
	if err != nil || state == pagecheck.Checked {
		return false, false, err
	}
	if state == pagecheck.Open && isOwned(filepath.Dir(file)) {
		return false, false, nil
	}
	return true, state == pagecheck.Damaged, nil
}

// look is a store that is only read.
type look interface {
	check.Reader
	Integrity(ctx context.Context) (damage []string, err error)
	Close() error
}

func openLook(ctx context.Context, store string) (look, error) {
	if c := (Config{Store: store}); c.shared() {
		l, err := postgres.OpenLook(ctx, store)
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	l, err := sqlite.OpenLook(ctx, store)
	if err != nil {
		return nil, err
	}
	return l, nil
}
