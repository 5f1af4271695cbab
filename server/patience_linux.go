package server

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patient tells the system to close a connection whose peer has acknowledged nothing for the time
// vanished. A machine that disappears does not close its connections, and the system would
// retransmit for a quarter of an hour.
func patient(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(vanished/time.Millisecond))
	})
	if err != nil {
		return err
	}
	return failed
}
