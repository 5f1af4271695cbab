package connection

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/perdure/perdure"
)

func guestFile(data string) string { return filepath.Join(data, "guests") }

// lockAsGuest keeps the owner of the data directory running until the returned function `leave` is
// called.
//
// A run that begins while another process owns the data directory is its guest: it has its own
// worker, connected to the owner's server. The owner runs until its guests have ended, so that the
// end of one run does not disturb another. Guests share a lock that the system releases when they
// end.
func lockAsGuest(data string) (leave func(), err error) {
	f, err := os.OpenFile(guestFile(data), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(perdure.Errorf(perdure.Unavailable, "the run that owns the data directory is just ending; try again"), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// hasGuests reports whether the owner of the data directory has guests. If it has none, no guest can
// begin while the returned file is open.
func hasGuests(data string) (last *os.File, there bool) {
	f, err := os.OpenFile(guestFile(data), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = f.Close()
		return nil, true
	}
	return f, false
}
