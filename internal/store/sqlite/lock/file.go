// Package lock reserves a database file for one server, even if other servers use another path to
// the same file.
package lock

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/filelock"
)

// File is a lock that prevents other servers from opening a database file under any path. The lock
// of a data directory covers only one path, but a file may have several, by hard or symbolic links.
// Two servers would then write two different logs for one file.
//
// The lock is on one byte of the file that SQLite's locks do not use. On Linux, it belongs to the
// open file (see lockByte). But SQLite's locks belong to the process, and closing any descriptor of
// the file drops them all. So Take does not open a file that this process has already locked; it
// recognizes such a file by its identity. The descriptor must be closed after SQLite's connections.
type File struct {
	file *os.File
	info os.FileInfo
}

var locked struct {
	sync.Mutex
	files []*File
}

// errLocked reports that another process has locked the byte.
var errLocked = errors.New("the file is locked")

// Take locks an existing database file. Errors: unavailable if another server has locked it.
func Take(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	locked.Lock()
	defer locked.Unlock()
	if slices.ContainsFunc(locked.files, func(l *File) bool { return os.SameFile(l.info, info) }) {
		return nil, inUse(path)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	take := func() error { return lockByte(file) }
	if err := filelock.Take(take, func(err error) bool { return errors.Is(err, errLocked) }); err != nil {
		if errors.Is(err, errLocked) {
			err = inUse(path)
		}
		return nil, errors.Join(err, file.Close())
	}
	l := &File{file: file, info: info}
	locked.files = append(locked.files, l)
	return l, nil
}

func inUse(path string) error {
	return perdure.Errorf(perdure.Unavailable, "the database %s is in use by another server, perhaps by another name; end it first", path)
}

// Release releases the lock. No connection of this process may have the file open any more.
func (l *File) Release() error {
	locked.Lock()
	defer locked.Unlock()
	locked.files = slices.DeleteFunc(locked.files, func(other *File) bool { return other == l })
	return l.file.Close()
}
