package httpapi_test

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

	"github.com/perdure/perdure/internal/httpapi"
)

// raw sends a request with the path exactly as given.
func (h *house) raw(proto, path string) net.Conn {
	h.t.Helper()
	host := strings.TrimPrefix(h.url, "http://")
	conn, err := net.Dial("tcp", host)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "GET %s%s %s\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", org, path, proto, host, h.client)
	if err != nil {
		h.t.Fatal(err)
	}
	return conn
}

// A stream ends when its reader disconnects, also while its log is idle.
func TestStreamEndsWithItsReader(t *testing.T) {
	var streams httpapi.OpenStreams
	h := open(t, func(c *httpapi.Config) { c.Streams = &streams })
	x := h.start("")
	for range 20 {
		s := h.follow(h.path(x.ID, "/stream"))
		s.must()
		if err := s.res.Body.Close(); err != nil {
			t.Fatal(err)
		}
	}
	streams.Wait() // blocks forever if a stream continues
}

// A reader that never reads is disconnected, and cannot take what it received for the whole.
func TestReaderThatNeverReadsIsCutOff(t *testing.T) {
	var streams httpapi.OpenStreams
	h := open(t, func(c *httpapi.Config) {
		c.Streams, c.WriteTimeout = &streams, 100*time.Millisecond
	})
	x := h.start("")
	r := h.claim()
	conn := h.raw("HTTP/1.1", h.path(x.ID, "/stream"))
	text := strings.Repeat("x", 500<<10)
	for i := range 14 {
		r.stream(0, int64(i*len(text)), "token", text)
	}
	r.complete()
	streams.Wait() // blocks forever if the server waits for the reader
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("what a reader that was cut off has got looks like the whole")
	}
}

// A client that requests a page and does not read it is disconnected.
func TestPageThatIsNotReadIsCutOff(t *testing.T) {
	h := open(t, func(c *httpapi.Config) { c.WriteTimeout = 100 * time.Millisecond })
	x := h.start("")
	r := h.claim()
	for range 32 {
		r.say(userText(strings.Repeat("x", 200<<10)))
		r.say(assistantText("yes"))
	}
	conn := h.raw("HTTP/1.1", h.path(x.ID, "/entries?limit=100"))
	<-h.closed // by the server
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err == nil {
		t.Error("the page came whole: it was too small for this test")
	}
}

// A client of HTTP/1.0 gets a stream without chunked encoding, which ends with the connection.
func TestStreamForHTTP10(t *testing.T) {
	h := open(t)
	r := play(h)
	want := h.follow(h.path(r.id, "/stream")).all()
	res, err := http.ReadResponse(bufio.NewReader(h.raw("HTTP/1.0", h.path(r.id, "/stream"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := streamOf(t, res).all(); show(got) != show(want) {
		t.Errorf("came\n%s\nwant\n%s", show(got), show(want))
	}
}

// Data that a client sends after its request does not affect its stream.
func TestStreamOfAClientThatTalks(t *testing.T) {
	h := open(t)
	x := h.start("")
	conn := h.raw("HTTP/1.1", h.path(x.ID, "/stream"))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s := streamOf(t, res)
	s.must()
	if _, err := conn.Write([]byte(strings.Repeat("blah\r\n", 1000))); err != nil {
		t.Fatal(err)
	}
	r := h.claim()
	r.complete()
	if events := s.all(); events[len(events)-2].event != "agent.completed" {
		t.Errorf("came\n%s", show(events))
	}
	if _, err := s.scan.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end: %v", err)
	}
}
