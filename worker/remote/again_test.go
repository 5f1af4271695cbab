package remote

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/perdure/perdure"
)

// tapped is a listener that also passes its connections to the test.
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

// TestAConnectionThatComesBackIsTold checks that the client reconnects by itself, without a call,
// and reports it once.
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

// A call in a pause is retried at once after a reconnect. The pause of this test's client never
// ends by itself.
func TestACallIsMadeAgainWhenTheConnectionIsBack(t *testing.T) {
	l := tapped{listen(t, "tcp", "127.0.0.1:0"), make(chan net.Conn, 8)}
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

// If the server sends a pause, the client does not retry before its end.
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
