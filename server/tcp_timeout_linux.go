package server

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// closeUnacknowledged is a control function for sockets. It makes the system close a connection if
// the peer has acknowledged no data for the time `vanished`. A machine that disappears does not
// close its connections, and by default the system retransmits for about a quarter of an hour.
func closeUnacknowledged(_, _ string, c syscall.RawConn) error {
	var failed error
	err := c.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(vanished/time.Millisecond))
	})
	if err != nil {
		return err
	}
	return failed
}
