package ws

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/face/front"
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

// TestSlowReaderOfALargeMessageMakesProgress checks that a client that takes each piece of a large
// message within the timeout receives the whole message.
func TestSlowReaderOfALargeMessageMakesProgress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		text := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16))
		sent := make(chan error, 1)
		listener := make(pipeListener)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			k := &socket{server: &server{Front: &front.Front{Config: front.Config{WriteTimeout: 30 * time.Second}}}, conn: conn}
			sent <- k.send(context.WithoutCancel(r.Context()), "event", text)
			_ = conn.CloseNow()
		})}
		over := make(chan error, 1)
		go func() { over <- srv.Serve(listener) }()
		slow := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			listener <- theirs
			return ours, nil
		}}
		conn, _, err := websocket.Dial(t.Context(), "ws://server/", &websocket.DialOptions{HTTPClient: &http.Client{Transport: slow}})
		if err != nil {
			t.Fatal(err)
		}
		conn.SetReadLimit(-1)
		_, in, err := conn.Reader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		for piece := make([]byte, 32<<10); err == nil; time.Sleep(10 * time.Second) {
			var n int
			n, err = io.ReadFull(in, piece)
			got.Write(piece[:n])
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the message ended with %v", err)
		}
		if err := <-sent; err != nil || !bytes.Contains(got.Bytes(), []byte(text)) {
			t.Errorf("%d bytes came; sending gave %v", got.Len(), err)
		}
		_ = conn.CloseNow()
		_ = srv.Close()
		<-over
	})
}
