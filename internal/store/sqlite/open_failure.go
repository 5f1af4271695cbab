package sqlite

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	lib "modernc.org/sqlite/lib"
)

// openFailure returns the operating system's error for a file that cannot be opened, because
// SQLite's error contains neither the file nor the reason. It returns other errors unchanged.
func openFailure(path string, err error) error {
	switch connection.ResultCode(err) {
	case lib.SQLITE_CANTOPEN, lib.SQLITE_READONLY, lib.SQLITE_PERM:
	default:
		return err
	}
	reason := accessFailure(path)
	if reason == nil {
		reason = &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return &perdure.Error{Code: perdure.InvalidArgument, Message: "the store cannot be opened", Err: reason}
}

// accessFailure returns why this process cannot use a database file, or nil if it finds no reason.
// SQLite must be able to access the file, and to write the log and the shared memory in the file's
// folder.
func accessFailure(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = file.Close() // the file was opened only to see whether that is possible
	const mayWrite = 2
	for _, name := range []string{filepath.Dir(path), path} {
		if err := syscall.Access(name, mayWrite); err != nil {
			return &fs.PathError{Op: "write", Path: name, Err: err}
		}
	}
	return nil
}
