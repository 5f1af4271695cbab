package sqlite

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/perdure/perdure"
)

// fileLock keeps other servers from a database file, by whatever name they reach it:
// the lock of a data directory is that of one path, and a file may have several, by a
// hard link or a symbolic one. Two servers would each write a log of its own.
//
// The lock is on the file itself, on a byte that SQLite's own locks do not use, and of
// the kind that belongs to the open file (see lockByte). SQLite's belong to the
// process: closing any descriptor of the file drops them all. So within the process
// the files that are locked are known by what they are, and one that is locked is not
// opened again; and the descriptor is closed after SQLite's connections.
type fileLock struct {
	file *os.File
	info os.FileInfo
}

var locked struct {
	sync.Mutex
	files []*fileLock
}

// errLocked is what the system says of a byte that another has locked.
var errLocked = errors.New("the file is locked")

// lockFile locks a database that is there. Error: unavailable while another server has it.
func lockFile(path string) (*fileLock, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	locked.Lock()
	defer locked.Unlock()
	if slices.ContainsFunc(locked.files, func(l *fileLock) bool { return os.SameFile(l.info, info) }) {
		return nil, inUse(path)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if err := lockByte(file); err != nil {
		if errors.Is(err, errLocked) {
			err = inUse(path)
		}
		return nil, errors.Join(err, file.Close())
	}
	l := &fileLock{file: file, info: info}
	locked.files = append(locked.files, l)
	return l, nil
}

func inUse(path string) error {
	return perdure.Errorf(perdure.Unavailable, "the database %s is in use by another server, perhaps by another name; end it first", path)
}

// release gives the file up; no connection of the process may have it open.
func (l *fileLock) release() error {
	locked.Lock()
	defer locked.Unlock()
	locked.files = slices.DeleteFunc(locked.files, func(other *fileLock) bool { return other == l })
	return l.file.Close()
}
