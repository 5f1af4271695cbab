package server

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestVanishedPeersAreNoticed checks that connections of listeners have a limit for unacknowledged
// data, and keep-alive probes when no data is sent. With these, the system closes the connection of
// a peer that has disappeared.
func TestVanishedPeersAreNoticed(t *testing.T) {
	l, err := listen("127.0.0.1:0", "--addr")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // the test is over
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close() //nolint:errcheck // the test is over
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // the test is over
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ level, option, most int }{
		"what is not acknowledged": {unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(time.Minute / time.Millisecond)},
		"probes":                   {unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		"the silence before them":  {unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 60},
		"the pause between them":   {unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 60},
	} {
		var got int
		var failed error
		if err := raw.Control(func(fd uintptr) { got, failed = unix.GetsockoptInt(int(fd), c.level, c.option) }); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		if got < 1 || got > c.most {
			t.Errorf("%s: %d, want 1 to %d", name, got, c.most)
		}
	}
}
