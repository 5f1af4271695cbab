package remote

import (
	"net"
	"testing"
)

// tapped is a listener that gives its connections to the test, too.
type tapped struct {
	net.Listener
	conns chan net.Conn
}

func (c tapped) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.conns <- conn
	}
	return conn, err
}

// TestAConnectionThatComesBackIsTold checks that the client connects again by
// itself, without a call, and says so once.
func TestAConnectionThatComesBackIsTold(t *testing.T) {
	l := tapped{listen(t, "tcp", "127.0.0.1:0"), make(chan net.Conn, 8)}
	serve(t, l)
	c, err := Dial(t.Context(), options(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Reconnected()) > 0 {
		t.Error("the first connection counts as one that came back")
	}
	if err := (<-l.conns).Close(); err != nil {
		t.Fatal(err)
	}
	<-c.Reconnected()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
