package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/perdure/perdure/internal/bubble"
)

// pipedAnswer is a response over an unbuffered pipe: a write returns only when the reader has taken
// the bytes.
type pipedAnswer struct {
	net.Conn
	header http.Header
}

func (p *pipedAnswer) Header() http.Header { return p.header }
func (p *pipedAnswer) WriteHeader(int)     {}
func (p *pipedAnswer) FlushError() error   { return nil }

// A reader may take any time for a large event as long as it makes progress, because the timeout
// applies to each piece. A reader that stops reading is disconnected.
func TestSlowReaderOfALargeEventMakesProgress(t *testing.T) {
	const timeout = 30 * time.Second
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for name, sink := range map[string]func(net.Conn) eventSink{
		"a connection of its own": func(c net.Conn) eventSink { return &ownConn{Conn: c} },
		"an answer":               func(c net.Conn) eventSink { return newAnswered(&pipedAnswer{c, http.Header{}}) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				server, reader := net.Pipe()
				wrote := make(chan error, 1)
				out := sink(server)
				go func() {
					wrote <- out.write(large, timeout)
					_ = server.Close()
				}()
				got := slowly20(t, reader)
				if err := <-wrote; err != nil {
					t.Errorf("the write failed: %v", err)
				}
				if !bytes.Contains(got, large) {
					t.Errorf("%d bytes came, not the event", len(got))
				}
			})
		})
		t.Run(name+", and a reader that stops", func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				server, reader := net.Pipe()
				defer server.Close()
				defer reader.Close()
				go func() { _, _ = io.ReadFull(reader, make([]byte, 100<<10)) }()
				began := time.Now()
				if err := sink(server).write(large, timeout); !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the write gave %v", err)
				}
				if took := time.Since(began); took != timeout {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// slowly20 reads a piece every 20 s of the bubble's clock.
func slowly20(t *testing.T, from net.Conn) (got []byte) {
	piece := make([]byte, pieceBytes)
	for {
		n, err := io.ReadFull(from, piece)
		got = append(got, piece[:n]...)
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Error(err)
			}
			return got
		}
		time.Sleep(20 * time.Second)
	}
}

// pipes is a listener for connections inside this process, and dials them.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// The timeout of a message on a socket also applies to each piece.
func TestSlowReaderOfALargeMessageMakesProgress(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		text := string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16))
		sent := make(chan error, 1)
		listener := make(pipes)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			k := &socket{server: &server{Config: Config{WriteTimeout: 30 * time.Second}}, conn: conn}
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
