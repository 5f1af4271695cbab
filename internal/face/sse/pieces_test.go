package sse

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/face/front"
)

// pipedResponse is a response over an unbuffered pipe: a write returns only when the reader has
// taken the bytes.
type pipedResponse struct {
	net.Conn
	header http.Header
}

func (p *pipedResponse) Header() http.Header { return p.header }
func (p *pipedResponse) WriteHeader(int)     {}
func (p *pipedResponse) FlushError() error   { return nil }

// TestSlowReaderOfALargeEventMakesProgress checks that a reader that takes each piece within the
// timeout receives the whole event, however long that takes. A reader that stops is disconnected
// after the timeout.
func TestSlowReaderOfALargeEventMakesProgress(t *testing.T) {
	const timeout = 30 * time.Second
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	for name, sink := range map[string]func(net.Conn) eventSink{
		"a connection of its own": func(c net.Conn) eventSink { return &hijackedConn{Conn: c} },
		"an answer":               func(c net.Conn) eventSink { return newResponseSink(&pipedResponse{c, http.Header{}}) },
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

// slowly20 reads a piece every 20 s of the test's fake clock.
func slowly20(t *testing.T, from net.Conn) (got []byte) {
	piece := make([]byte, front.PieceBytes)
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
