package httpapi_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/httpapi"
)

// overH2 is a client of a house over one HTTP/2 connection.
type overH2 struct {
	*house
	web   *http.Transport
	dials atomic.Int32
}

// h2 creates a client. window is the number of unread bytes of a stream that it accepts; 0 is the
// default.
func (h *house) h2(window int) *overH2 {
	var only http.Protocols
	only.SetUnencryptedHTTP2(true)
	c := &overH2{house: h}
	c.web = &http.Transport{
		Protocols: &only, DisableCompression: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: window, StrictMaxConcurrentRequests: true},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			c.dials.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		},
	}
	h.t.Cleanup(c.web.CloseIdleConnections)
	return c
}

func (c *overH2) get(path string, headers ...string) *http.Response {
	c.t.Helper()
	res, err := c.web.RoundTrip(c.request("GET", path, "", headers...))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = res.Body.Close() })
	if res.ProtoMajor != 2 {
		c.t.Fatalf("the answer came over %s", res.Proto)
	}
	return res
}

func (c *overH2) read(path string, headers ...string) (int, []byte) {
	c.t.Helper()
	res := c.get(path, headers...)
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return res.StatusCode, raw
}

func (c *overH2) follow(path string, headers ...string) *stream {
	c.t.Helper()
	res := c.get(path, headers...)
	if res.StatusCode != 200 {
		c.t.Fatalf("%s: %s", path, res.Status)
	}
	return streamOf(c.t, res)
}

// Streams and pages are the same over HTTP/2 and HTTP/1.1.
func TestHTTP2GivesTheSame(t *testing.T) {
	h := open(t)
	r := play(h)
	c := h.h2(0)
	for _, path := range []string{"/stream", "/stream/consolidated", "/stream?render=html"} {
		want, got := h.follow(h.path(r.id, path)).all(), c.follow(h.path(r.id, path)).all()
		if show(got) != show(want) {
			t.Errorf("%s over HTTP/2:\n%s\nwant\n%s", path, show(got), show(want))
		}
		resumed := c.follow(h.path(r.id, path), "Last-Event-ID", want[2].id).all()
		if show(resumed) != show(want[3:]) {
			t.Errorf("%s over HTTP/2, resumed:\n%s\nwant\n%s", path, show(resumed), show(want[3:]))
		}
	}
	for _, path := range []string{h.path(r.id, "/events"), h.path(r.id, "/entries"), h.path(r.id, "/snapshot"), durable(r.id, "")} {
		want := h.call("GET", path, "")
		if status, got := c.read(path); status != want.status || string(got) != string(want.body) {
			t.Errorf("%s over HTTP/2: %d\n%s\nwant %d\n%s", path, status, got, want.status, want.body)
		}
	}
	if n := c.dials.Load(); n != 1 {
		t.Errorf("it took %d connections", n)
	}
}

// One HTTP/2 connection carries more streams, including long polls, than browsers open over
// HTTP/1.1 in total.
func TestHTTP2CarriesManyStreams(t *testing.T) {
	const streams = 300
	h := open(t)
	x := h.start("")
	r := h.claim()
	c := h.h2(0)
	var open []*stream
	for range streams {
		s := c.follow(h.path(x.ID, "/stream"))
		s.must()
		s.must()
		open = append(open, s)
	}
	offset := h.call("HEAD", durable(x.ID, ""), "").header.Get("Stream-Next-Offset")
	var polls sync.WaitGroup
	for range 20 {
		polls.Go(func() {
			status, raw := c.read(durable(x.ID, "?live=long-poll&offset="+offset))
			if status != 200 || !strings.Contains(string(raw), "hello") {
				t.Errorf("a long poll gave %d %s", status, raw)
			}
		})
	}
	r.stream(0, 0, "token", "hello")
	for i, s := range open {
		if e := s.must(); e.event != "token" || e.fields["data"] != "hello" {
			t.Fatalf("stream %d was given %+v", i, e)
		}
	}
	polls.Wait()
	r.complete()
	for _, s := range open {
		s.all()
	}
	if n := c.dials.Load(); n != 1 {
		t.Errorf("%d streams took %d connections", streams, n)
	}
}

// resets is a log handler that reports when a stream has been reset.
type resets chan struct{}

func (r resets) Enabled(context.Context, slog.Level) bool { return true }
func (r resets) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r resets) WithGroup(string) slog.Handler            { return r }

func (r resets) Handle(_ context.Context, record slog.Record) error {
	if record.Message == "stream reset" {
		select {
		case r <- struct{}{}:
		default:
		}
	}
	return nil
}

// A stream that its client does not read is reset, and blocks no other stream on the same
// connection.
func TestHTTP2StreamThatIsNotRead(t *testing.T) {
	cut := make(resets, 1)
	h := open(t, func(c *httpapi.Config) { c.WriteTimeout, c.Logger = 2*time.Second, slog.New(cut) })
	x := h.start("")
	r := h.claim()
	c := h.h2(32 << 10)
	asleep := c.follow(h.path(x.ID, "/stream"))
	page := c.get(h.path(x.ID, "/events")) // is small, and not read either
	awake := c.follow(h.path(x.ID, "/stream"))
	read := make(chan []sse, 1)
	go func() {
		var events []sse
		for e, err := awake.next(); err == nil; e, err = awake.next() {
			events = append(events, e)
		}
		read <- events
	}()
	text := strings.Repeat("x", 50<<10)
	want := 0
	for i := range 20 {
		r.stream(0, int64(i*len(text)), "token", text)
		want += len(text)
	}
	r.complete()
	got := 0
	for _, e := range <-read {
		if s, ok := e.fields["data"].(string); ok && e.event == "token" {
			got += len(s)
		}
	}
	if got != want {
		t.Errorf("the stream that was read came with %d bytes, want %d", got, want)
	}
	<-cut
	var err error
	for err == nil {
		_, err = asleep.next()
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream that was not read ended with %v: a client takes that for its end", err)
	}
	if raw, err := io.ReadAll(page.Body); err != nil || len(raw) == 0 {
		t.Errorf("the page: %d bytes, %v", len(raw), err)
	}
}

// HTTP/2 streams are reset, too, when the server stops and when the key is revoked.
func TestHTTP2StreamsAreReset(t *testing.T) {
	for name, end := range map[string]func(h *house, key uuid.UUID){
		"the server stops": func(h *house, _ uuid.UUID) { close(h.stop) },
		"the key is over": func(h *house, key uuid.UUID) {
			h.call("DELETE", "/keys/"+key.String(), "", "Authorization", "Bearer "+h.admin).want(200, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, func(c *httpapi.Config) { c.RecheckEvery = time.Millisecond })
			x := h.start("")
			key, secret, err := h.engine.CreateKey(t.Context(), "default", "brief", "client")
			if err != nil {
				t.Fatal(err)
			}
			s := h.h2(0).follow(h.path(x.ID, "/stream"), "Authorization", "Bearer "+secret)
			s.must()
			end(h, key.ID)
			if e, err := s.next(); err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the stream ended with %+v, %v: a client takes that for its end", e, err)
			}
		})
	}
}

func TestWebSocketOverHTTP2IsRefused(t *testing.T) {
	h := open(t)
	x := h.start("")
	status, raw := h.h2(0).read(h.path(x.ID, "/ws"))
	if status != 400 || !strings.Contains(string(raw), "HTTP/1.1") {
		t.Errorf("refused with %d %s", status, raw)
	}
}
