package sse_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/sse"
	"github.com/perdure/perdure/internal/longtest"
)

// raw sends a GET request with `proto` as the HTTP version, and returns the connection.
func (h *testServer) raw(proto, path string) net.Conn {
	h.T.Helper()
	host := strings.TrimPrefix(h.URL, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET %s%s %s\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", org, path, proto, host, h.ClientKey)
	if err != nil {
		h.T.Fatal(err)
	}
	return conn
}

// TestStreamEndsWithItsReader checks that the stream of a log that does not grow ends when the
// reader disconnects.
func TestStreamEndsWithItsReader(t *testing.T) {
	var streams sse.OpenStreams
	h := open(t, func(c *face.Config) { c.Streams = &streams })
	x := h.Start("")
	for range 20 {
		s := h.Follow(h.Path(x.ID, "/stream"))
		s.Must()
		if err := s.Response.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	streams.Wait() // blocks forever if a stream continues
}

// TestReaderThatNeverReadsIsCutOff checks that a reader that does not read is disconnected, and
// that the response then ends with an error, not with a clean end.
func TestReaderThatNeverReadsIsCutOff(t *testing.T) {
	longtest.Skip(t, "seconds")
	var streams sse.OpenStreams
	h := open(t, func(c *face.Config) {
		c.Streams, c.WriteTimeout = &streams, 100*time.Millisecond
	})
	x := h.Start("")
	r := h.Claim()
	conn := h.raw("HTTP/1.1", h.Path(x.ID, "/stream"))
	text := strings.Repeat("x", 500<<10)
	for i := range 14 {
		r.Stream(0, int64(i*len(text)), "token", text)
	}
	r.Complete()
	streams.Wait() // blocks forever if the server waits for the reader
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("what a reader that was cut off has got looks like the whole")
	}
}

// TestPageThatIsNotReadIsCutOff checks that a client that requests a page and does not read it is
// disconnected.
func TestPageThatIsNotReadIsCutOff(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, func(c *face.Config) { c.WriteTimeout = 100 * time.Millisecond })
	x := h.Start("")
	r := h.Claim()
	for range 32 {
		r.Say(userText(strings.Repeat("x", 200<<10)))
		r.Say(assistantText("yes"))
	}
	conn := h.raw("HTTP/1.1", h.Path(x.ID, "/entries?limit=100"))
	<-h.Closed // the server closes the connection
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the page came whole: it was too small for this test")
	}
}

// TestStreamForHTTP10 checks that a client of HTTP/1.0 gets the same events as a client of
// HTTP/1.1.
func TestStreamForHTTP10(t *testing.T) {
	h := open(t)
	r := play(h)
	want := h.Follow(h.Path(r.ID, "/stream")).All()
	res, err := http.ReadResponse(bufio.NewReader(h.raw("HTTP/1.0", h.Path(r.ID, "/stream"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := streamOf(t, res).All(); show(got) != show(want) {
		t.Errorf("came\n%s\nwant\n%s", show(got), show(want))
	}
}

// TestStreamOfAClientThatTalks checks that a client receives its stream unchanged although it sends
// bytes after its request.
func TestStreamOfAClientThatTalks(t *testing.T) {
	h := open(t)
	x := h.Start("")
	conn := h.raw("HTTP/1.1", h.Path(x.ID, "/stream"))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s := streamOf(t, res)
	s.Must()
	if _, err := conn.Write([]byte(strings.Repeat("blah\r\n", 1000))); err != nil {
		t.Fatal(err)
	}
	r := h.Claim()
	r.Complete()
	if events := s.All(); events[len(events)-2].Event != "agent.completed" {
		t.Errorf("came\n%s", show(events))
	}
	if _, err := s.Scan.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}
