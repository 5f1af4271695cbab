package ws

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
)

// pipeListener is a listener whose connections stay inside this process.
type pipeListener chan net.Conn

func (p pipeListener) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipeListener) Close() error   { close(p); return nil }
func (p pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// overPipe runs a WebSocket of the server over a connection in this process, whose client is the
// function `client`. It returns the result of the function `serve`.
func overPipe(t *testing.T, serve func(*socket) error, client func(*websocket.Conn)) error {
	t.Helper()
	result := make(chan error, 1)
	listener := make(pipeListener)
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		config := front.Config{WriteTimeout: 30 * time.Second, PingEvery: time.Hour}
		result <- serve(&socket{server: &server{Front: &front.Front{Config: config}}, conn: conn, items: make(chan eventlog.Item)})
		_ = conn.CloseNow()
	})}
	over := make(chan error, 1)
	go func() { over <- srv.Serve(listener) }()
	pipe := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		listener <- theirs
		return ours, nil
	}}
	conn, _, err := websocket.Dial(t.Context(), "ws://server/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: pipe}})
	if err != nil {
		t.Fatal(err)
	}
	conn.SetReadLimit(-1)
	client(conn)
	_ = conn.CloseNow()
	_ = srv.Close()
	<-over
	return <-result
}

// TestSlowReaderOfALargeMessageMakesProgress checks that a client that takes each piece of a large
// message within the timeout receives the whole message.
func TestSlowReaderOfALargeMessageMakesProgress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		text := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16))
		var got bytes.Buffer
		err := overPipe(t, func(k *socket) error {
			return k.send(context.Background(), "event", text)
		}, func(conn *websocket.Conn) {
			_, in, err := conn.Reader(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for piece := make([]byte, 32<<10); err == nil; time.Sleep(10 * time.Second) {
				var n int
				n, err = io.ReadFull(in, piece)
				got.Write(piece[:n])
			}
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the message ended with %v", err)
			}
		})
		if err != nil || !bytes.Contains(got.Bytes(), []byte(text)) {
			t.Errorf("%d bytes came; sending gave %v", got.Len(), err)
		}
	})
}

// TestEndDuringAMessageIsReported checks that the server ends the message that it is sending and
// then closes the WebSocket with its reason, if the reason arises during the message.
func TestEndDuringAMessageIsReported(t *testing.T) {
	for cause, want := range map[error]websocket.StatusCode{
		front.ErrKeyOver: websocket.StatusPolicyViolation, front.ErrStopping: websocket.StatusGoingAway,
	} {
		bubble.Test(t, func(t *testing.T) {
			ctx, end := context.WithCancelCause(context.Background())
			err := overPipe(t, func(k *socket) error {
				return k.run(ctx, &perdure.Execution{})
			}, func(conn *websocket.Conn) {
				synctest.Wait() // the server now sends the first message, which nobody reads
				end(cause)
				synctest.Wait()
				if _, raw, err := conn.Read(t.Context()); err != nil || !bytes.Contains(raw, []byte(`"connected"`)) {
					t.Errorf("%v: the message is %q, %v", cause, raw, err)
				}
				if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != want {
					t.Errorf("%v: the socket ends with %v", cause, err)
				}
			})
			if !errors.Is(err, cause) {
				t.Errorf("%v: the socket ended with %v", cause, err)
			}
		})
	}
}

// TestEndDuringAPingIsReported checks that the server closes the WebSocket with its reason, if the
// reason arises while the server waits for the response to a ping.
func TestEndDuringAPingIsReported(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(context.Background())
		err := overPipe(t, func(k *socket) error {
			return k.run(ctx, &perdure.Execution{})
		}, func(conn *websocket.Conn) {
			if _, _, err := conn.Read(t.Context()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour) // the server now sends a ping, which nobody reads
			synctest.Wait()
			end(front.ErrStopping)
			synctest.Wait()
			if _, _, err := conn.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Errorf("the socket ends with %v", err)
			}
		})
		if !errors.Is(err, front.ErrStopping) {
			t.Errorf("the socket ended with %v", err)
		}
	})
}

// TestEndDoesNotWaitForASlowReader checks that a client that reads nothing has one second for the
// message that the server is sending when the WebSocket ends, not the whole write timeout.
func TestEndDoesNotWaitForASlowReader(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancelCause(context.Background())
		var took time.Duration
		err := overPipe(t, func(k *socket) error {
			return k.send(ctx, "event", strings.Repeat("x", 1<<20))
		}, func(conn *websocket.Conn) {
			synctest.Wait()
			end(front.ErrStopping)
			began := time.Now()
			for conn.Ping(t.Context()) == nil { // the connection is closed when nobody reads for a second
				t.Error("a ping was answered")
			}
			took = time.Since(began)
		})
		if err == nil || took != time.Second {
			t.Errorf("sending ended after %v with %v", took, err)
		}
	})
}
