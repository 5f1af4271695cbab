package lock

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockedByte is the offset of the locked byte: the one before SQLite's own locks, which start at 1
// GiB.
const lockedByte = 1<<30 - 1

// setOwnLock is the fcntl command F_OFD_SETLK. It sets a lock that belongs to the open file, not to
// the process.
const setOwnLock = 37

func lockByte(file *os.File) error {
	err := syscall.FcntlFlock(file.Fd(), setOwnLock, &syscall.Flock_t{Type: syscall.F_WRLCK, Start: lockedByte, Len: 1})
	switch {
	case errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES):
		return errLocked
	case err != nil:
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return nil
}
