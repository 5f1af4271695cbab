package remote

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/perdure/perdure"
)

// tappedListener is a listener that also passes its accepted connections to the test.
type tappedListener struct {
	net.Listener
	conns chan net.Conn
}

func (c tappedListener) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.conns <- conn
	}
	return conn, err
}

// TestAReconnectIsReported checks that the client reconnects without a call, and then sends a value
// to the channel that Reconnected returns. The first connection does not count as a reconnect.
func TestAReconnectIsReported(t *testing.T) {
	l := tappedListener{listen(t, "tcp", "127.0.0.1:0"), make(chan net.Conn, 8)}
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

// TestACallIsMadeAgainWhenTheConnectionIsBack checks that a call that waits for its retry is
// repeated after a reconnect, although its pause of an hour is not over.
func TestACallIsMadeAgainWhenTheConnectionIsBack(t *testing.T) {
	l := tappedListener{listen(t, "tcp", "127.0.0.1:0"), make(chan net.Conn, 8)}
	serve(t, l)
	c, err := Dial(t.Context(), options(l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	c.pauses = func() backoff.BackOff { return backoff.NewConstantBackOff(time.Hour) }
	tries := 0
	answer, err := again(t.Context(), c, "Test", func(context.Context) (string, error) {
		if tries++; tries == 1 {
			if err := (<-l.conns).Close(); err != nil {
				t.Error(err)
			}
			return "", perdure.Errorf(perdure.Unavailable, "cut")
		}
		return "stored", nil
	})
	if err != nil || answer != "stored" || tries != 2 {
		t.Errorf("%q (%v) after %d tries", answer, err, tries)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestAPauseThatTheServerNamesIsKept checks that the client waits for the whole pause that a server
// has sent with an error, even after a reconnect. If the server has sent no pause, a reconnect ends
// the client's own pause.
func TestAPauseThatTheServerNamesIsKept(t *testing.T) {
	busy := &perdure.Error{Code: perdure.RateLimited, RetryAfter: time.Minute}
	back := make(chan struct{})
	if pause, early := pauseAfter(busy, time.Second, back); pause != time.Minute || early != nil {
		t.Errorf("the pause is %s, ended early by %v", pause, early)
	}
	if pause, early := pauseAfter(perdure.Errorf(perdure.Unavailable, "away"), time.Second, back); pause != time.Second || early == nil {
		t.Errorf("the pause is %s, ended early by %v", pause, early)
	}
}
