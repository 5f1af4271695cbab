package face_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/longtest"
)

// h2Client sends all its requests over one HTTP/2 connection.
type h2Client struct {
	*testServer
	conn *http.ClientConn
}

// h2 creates an h2Client. The client lets the server send at most `window` unread bytes on each
// stream; 0 means HTTP/2's default.
func (h *testServer) h2(window int) *h2Client {
	h.T.Helper()
	var only http.Protocols
	only.SetUnencryptedHTTP2(true)
	web := &http.Transport{
		Protocols: &only, DisableCompression: true,
		HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: window},
	}
	conn, err := web.NewClientConn(h.T.Context(), "http", h.Request("GET", "/", "").URL.Host)
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { _ = conn.Close() })
	return &h2Client{testServer: h, conn: conn}
}

func (c *h2Client) get(path string, headers ...string) *http.Response {
	c.T.Helper()
	res, err := c.conn.RoundTrip(c.Request("GET", path, "", headers...))
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { _ = res.Body.Close() })
	if res.ProtoMajor != 2 {
		c.T.Fatalf("the answer came over %s", res.Proto)
	}
	return res
}

func (c *h2Client) read(path string, headers ...string) (int, []byte) {
	c.T.Helper()
	res := c.get(path, headers...)
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		c.T.Fatal(err)
	}
	return res.StatusCode, raw
}

func (c *h2Client) follow(path string, headers ...string) *stream {
	c.T.Helper()
	res := c.get(path, headers...)
	if res.StatusCode != 200 {
		c.T.Fatalf("%s: %s", path, res.Status)
	}
	return streamOf(c.T, res)
}

// TestHTTP2GivesTheSame checks that event streams, resumed streams and pages are equal over HTTP/2
// and HTTP/1.1.
func TestHTTP2GivesTheSame(t *testing.T) {
	h := open(t)
	r := play(h)
	c := h.h2(0)
	for _, path := range []string{"/stream", "/stream/consolidated", "/stream?render=html"} {
		want, got := h.Follow(h.Path(r.ID, path)).All(), c.follow(h.Path(r.ID, path)).All()
		if show(got) != show(want) {
			t.Errorf("%s over HTTP/2:\n%s\nwant\n%s", path, show(got), show(want))
		}
		resumed := c.follow(h.Path(r.ID, path), "Last-Event-ID", want[2].ID).All()
		if show(resumed) != show(want[3:]) {
			t.Errorf("%s over HTTP/2, resumed:\n%s\nwant\n%s", path, show(resumed), show(want[3:]))
		}
	}
	for _, path := range []string{h.Path(r.ID, "/events"), h.Path(r.ID, "/entries"), h.Path(r.ID, "/snapshot"), durable(r.ID, "")} {
		want := h.Call("GET", path, "")
		if status, got := c.read(path); status != want.Status || string(got) != string(want.Body) {
			t.Errorf("%s over HTTP/2: %d\n%s\nwant %d\n%s", path, status, got, want.Status, want.Body)
		}
	}
}

// TestHTTP2CarriesManyStreams checks that one HTTP/2 connection carries 300 event streams and 20
// long polls at the same time.
func TestHTTP2CarriesManyStreams(t *testing.T) {
	const streams = 300
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	c := h.h2(0)
	var open []*stream
	for range streams {
		s := c.follow(h.Path(x.ID, "/stream"))
		s.Must()
		s.Must()
		open = append(open, s)
	}
	offset := h.Call("HEAD", durable(x.ID, ""), "").Header.Get("Stream-Next-Offset")
	var polls sync.WaitGroup
	for range 20 {
		polls.Go(func() {
			status, raw := c.read(durable(x.ID, "?live=long-poll&offset="+offset))
			if status != 200 || !strings.Contains(string(raw), "hello") {
				t.Errorf("a long poll gave %d %s", status, raw)
			}
		})
	}
	r.Stream(0, 0, "token", "hello")
	for i, s := range open {
		if e := s.Must(); e.Event != "token" || e.Fields["data"] != "hello" {
			t.Fatalf("stream %d was given %+v", i, e)
		}
	}
	polls.Wait()
	r.Complete()
	for _, s := range open {
		s.All()
	}
}

// resetLog is a log handler that sends on the channel when the server logs that it has reset a
// stream.
type resetLog chan struct{}

func (r resetLog) Enabled(context.Context, slog.Level) bool { return true }
func (r resetLog) WithAttrs([]slog.Attr) slog.Handler       { return r }
func (r resetLog) WithGroup(string) slog.Handler            { return r }

func (r resetLog) Handle(_ context.Context, record slog.Record) error {
	if record.Message == "stream reset" {
		select {
		case r <- struct{}{}:
		default:
		}
	}
	return nil
}

// TestHTTP2StreamThatIsNotRead checks that the server resets a stream if the client does not read
// it. The client receives another stream and a page of events on the same connection completely.
func TestHTTP2StreamThatIsNotRead(t *testing.T) {
	longtest.Skip(t, "seconds")
	cut := make(resetLog, 1)
	h := open(t, func(c *face.Config) { c.WriteTimeout, c.Logger = 2*time.Second, slog.New(cut) })
	x := h.Start("")
	r := h.Claim()
	c := h.h2(32 << 10)
	asleep := c.follow(h.Path(x.ID, "/stream"))
	page := c.get(h.Path(x.ID, "/events")) // this page is small and is not read either
	awake := c.follow(h.Path(x.ID, "/stream"))
	read := make(chan []sseEvent, 1)
	go func() {
		var events []sseEvent
		for e, err := awake.Next(); err == nil; e, err = awake.Next() {
			events = append(events, e)
		}
		read <- events
	}()
	text := strings.Repeat("x", 50<<10)
	want := 0
	for i := range 20 {
		r.Stream(0, int64(i*len(text)), "token", text)
		want += len(text)
	}
	r.Complete()
	got := 0
	for _, e := range <-read {
		if s, ok := e.Fields["data"].(string); ok && e.Event == "token" {
			got += len(s)
		}
	}
	if got != want {
		t.Errorf("the stream that was read came with %d bytes, want %d", got, want)
	}
	<-cut
	var err error
	for err == nil {
		_, err = asleep.Next()
	}
	if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream that was not read ended with %v: a client takes that for its end", err)
	}
	if raw, err := io.ReadAll(page.Body); err != nil || len(raw) == 0 {
		t.Errorf("the page: %d bytes, %v", len(raw), err)
	}
}

// TestHTTP2StreamsAreReset checks that streams over HTTP/2 are reset when the server stops and when
// the key is revoked.
func TestHTTP2StreamsAreReset(t *testing.T) {
	for name, end := range map[string]func(h *testServer, key uuid.UUID){
		"the server stops": func(h *testServer, _ uuid.UUID) { close(h.Stop) },
		"the key is over": func(h *testServer, key uuid.UUID) {
			h.Call("DELETE", "/keys/"+key.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, func(c *face.Config) { c.RecheckEvery = time.Millisecond })
			x := h.Start("")
			key, secret, err := h.Engine.CreateKey(t.Context(), "default", "brief", "client")
			if err != nil {
				t.Fatal(err)
			}
			s := h.h2(0).follow(h.Path(x.ID, "/stream"), "Authorization", "Bearer "+secret)
			s.Must()
			end(h, key.ID)
			if e, err := s.Next(); err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the stream ended with %+v, %v: a client takes that for its end", e, err)
			}
		})
	}
}

func TestWebSocketOverHTTP2IsRefused(t *testing.T) {
	h := open(t)
	x := h.Start("")
	status, raw := h.h2(0).read(h.Path(x.ID, "/ws"))
	if status != 400 || !strings.Contains(string(raw), "HTTP/1.1") {
		t.Errorf("refused with %d %s", status, raw)
	}
}
