package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/perdure/perdure"
)

// A run that begins while another one owns the data directory is its guest: it
// has a worker of its own, at the other's server. The owner stays up for its
// guests, so that the end of one run does not disturb another. Guests share a
// lock that the system gives up when they die.

func guestFile(data string) string { return filepath.Join(data, "guests") }

// beGuest keeps the owner up until the function that it gives is called.
func beGuest(data string) (leave func(), err error) {
	f, err := os.OpenFile(guestFile(data), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(perdure.Errorf(perdure.Unavailable, "the run that owns the data directory is just ending; try again"), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// hasGuests reports whether any are there; if not, none can come any more while
// the file is open.
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
