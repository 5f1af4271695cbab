package connection

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
	lib "modernc.org/sqlite/lib"
)

// coded is an error of SQLite, from this package or from database/sql. The method Code returns
// SQLite's extended result code.
type coded interface {
	error
	Code() int
}

// ResultCode returns SQLite's primary result code; 0 if err is not an error of SQLite.
func ResultCode(err error) int {
	var failure coded
	if errors.As(err, &failure) {
		return failure.Code() & 0xff
	}
	return 0
}

// IsFull reports whether err means that the disk is full.
func IsFull(err error) bool { return ResultCode(err) == lib.SQLITE_FULL }

// IsBusy reports whether err means that another connection holds a lock.
func IsBusy(err error) bool {
	code := ResultCode(err)
	return code == lib.SQLITE_BUSY || code == lib.SQLITE_LOCKED
}

// IsBroken reports whether err means that the file or the disk can no longer be trusted.
func IsBroken(err error) bool {
	switch ResultCode(err) {
	case lib.SQLITE_IOERR, lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// Unavailable returns an error with code unavailable.
func Unavailable(err error, format string, args ...any) error {
	return &perdure.Error{Code: perdure.Unavailable, Message: fmt.Sprintf(format, args...), Err: err}
}

// Refusal converts an error of SQLite to the error that a command or a read returns to its caller.
// An error that already has one of Perdure's codes remains unchanged.
func Refusal(err error) error {
	var coded *perdure.Error
	switch {
	case err == nil || errors.As(err, &coded):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case IsFull(err):
		return Unavailable(err, "the disk is full")
	case IsBusy(err):
		return Unavailable(err, "the database is busy")
	case isUnique(err):
		return &perdure.Error{Code: perdure.AlreadyExists, Message: "a row of that identity exists already", Err: err}
	}
	return &perdure.Error{Code: perdure.Internal, Message: "the store failed", Err: err}
}

func isUnique(err error) bool {
	var failure coded
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Code() {
	case lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID:
		return true
	}
	return false
}

// sharedPiece is the number of bytes by which SQLite extends its file of shared memory. All
// processes that have a database open share this memory.
const sharedPiece = 32 << 10

// FullStart returns an error that says that the disk is full, if SQLite has found no disk space for
// its file of shared memory. It returns other errors unchanged.
func FullStart(err error) error {
	var failure coded
	if errors.As(err, &failure) && (IsFull(err) || failure.Code() == lib.SQLITE_IOERR_SHMSIZE) {
		return Unavailable(err, "the disk is full: at least %d bytes more must be free", sharedPiece)
	}
	return err
}
