package server

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patient ends a connection whose peer has acknowledged nothing for so long: a
// machine that has vanished closes nothing, and what is sent to it, a ping at
// least, would be repeated for a quarter of an hour.
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
