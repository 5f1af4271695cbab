package durablestream

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// lossyNotifier is a notifier that loses every hint.
type lossyNotifier struct{}

func (lossyNotifier) Publish(string) {}

func (lossyNotifier) PublishAway(string) {}

func (lossyNotifier) Subscribe(...string) (<-chan struct{}, func()) { return nil, func() {} }

// TestLiveReadersSeeWhatComes checks that waiting readers receive new content, and learn of the end
// of the stream. It runs with a working notifier, and with one that loses all hints.
func TestLiveReadersSeeWhatComes(t *testing.T) {
	for name, hints := range map[string]notify.Notifier{"with hints": &notify.Local{}, "without": lossyNotifier{}} {
		t.Run(name, func(t *testing.T) {
			r := serve(t, opentest.Store(t), hints)
			offset := r.make("s", asText, "a").next()
			events, tail := r.follow("s", "-1"), r.follow("s", "now")
			if c := events.until("a"); c.Next != offset || !c.UpToDate || c.Cursor == "" {
				t.Errorf("the first batch leads to %+v", c)
			}
			if c := tail.until(""); c.Next != offset || !c.UpToDate {
				t.Errorf("a reader from now begins with %+v", c)
			}
			polled := make(chan reply, 2)
			for _, from := range []string{offset, "now"} {
				go func() { polled <- r.call("GET", "s?live=long-poll&offset="+from, "") }()
			}
			r.awaitReaders(4)
			next := r.add("s", asText, "b").want(204).next()
			for range 2 {
				if got := (<-polled).want(200).says(headerNext, next, headerUpToDate, "true"); got.body != "b" {
					t.Errorf("a long poll gives %q", got.body)
				}
			}
			events.until("b")
			tail.until("b")
			r.call("POST", "s", "", headerClosed, "true").want(204)
			for _, l := range []*eventStream{events, tail} {
				if c := l.until(""); !c.Closed || c.Next != next || c.Cursor != "" {
					t.Errorf("the end is %+v", c)
				}
				if _, _, err := l.event(); !errors.Is(err, io.EOF) {
					t.Errorf("after the end comes %v", err)
				}
			}
		})
	}
}

// awaitReaders returns once n readers wait for new content.
func (r *testServer) awaitReaders(n int) {
	r.Helper()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for range look.C {
		waiting := 0
		r.streams.mu.Lock()
		for _, w := range r.streams.watches {
			waiting += w.refs
		}
		r.streams.mu.Unlock()
		if waiting >= n {
			return
		}
		if err := r.Context().Err(); err != nil {
			r.Fatal(err)
		}
	}
}

// TestDeletingWakesReaders checks that readers stop waiting when their stream is deleted. A long
// poll gets 404, and an event stream is reset.
func TestDeletingWakesReaders(t *testing.T) {
	r := open(t)
	offset := r.make("s", asText, "a").next()
	events := r.follow("s", offset)
	events.until("")
	polled := make(chan reply, 1)
	go func() { polled <- r.call("GET", "s?live=long-poll&offset="+offset, "") }()
	r.awaitReaders(2)
	r.call("DELETE", "s", "").want(204)
	(<-polled).want(404)
	if _, _, err := events.event(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the event stream ends with %v", err)
	}
}

// TestEventsOfTextHoldWholeCharacters checks that events contain whole characters and unchanged
// lines, wherever the appended parts were cut.
func TestEventsOfTextHoldWholeCharacters(t *testing.T) {
	r := open(t)
	const text = "é€😀 x\n  y\n\n"
	r.make("s", asText, "")
	l := r.follow("s", "-1")
	l.until("")
	for i := range len(text) {
		r.add("s", asText, text[i:i+1]).want(204)
	}
	c := l.until(text)
	if rest := r.call("GET", "s?offset="+c.Next, "").want(200); rest.body != "" {
		t.Errorf("after what was given comes %q", rest.body)
	}
	half := r.add("s", asText, "\xe2\x82").want(204).next()
	r.add("s", asText, "\xac!").want(204)
	l.until("€!")
	// A reader may use an offset inside a character if the server issued it.
	if got := r.call("GET", "s?offset="+half, "").want(200); got.body != "\xac!" {
		t.Errorf("after half a character comes %q", got.body)
	}
	r.add("s", asText, "\xe2\x82", headerClosed, "true").want(204)
	if got, c, err := l.batch(); err != nil || got != "\xe2\x82" || !c.Closed {
		t.Errorf("at the end comes %q %+v %v", got, c, err)
	}
	lines := r.make("lines", asText, "a\r\nb\rc\n d\n\ne").next()
	if c := r.follow("lines", "-1").until("a\nb\nc\n d\n\ne"); c.Next != lines {
		t.Errorf("it leads to %+v", c)
	}
}

// TestEventsOfBytes checks that events carry content that is not text as base64.
func TestEventsOfBytes(t *testing.T) {
	r := open(t)
	content := "\x00\xff\r\n\n" + filled(200_000)
	r.make("s", asBytes, content)
	l := r.follow("s", "-1")
	if got := l.res.Header.Get(headerEncoding); got != "base64" {
		t.Errorf("the encoding is %q", got)
	}
	l.until(content)
	r.make("json", asJSON, `[{"a": "\n"}, 2]`)
	j := r.follow("json", "-1")
	if got := j.res.Header.Get(headerEncoding); got != "" {
		t.Errorf("JSON has the encoding %q", got)
	}
	j.until(`[{"a":"\n"},2]`)
}

// TestReaderThatMayNoLongerReadIsEnded checks that an error of Reading.Alive, such as a revoked
// key, ends a waiting request.
func TestReaderThatMayNoLongerReadIsEnded(t *testing.T) {
	r := open(t)
	var over atomic.Bool
	r.reading.Alive = func() error {
		if over.Load() {
			return perdure.Errorf(perdure.Unavailable, "over")
		}
		return nil
	}
	offset := r.make("s", asText, "a").next()
	events := r.follow("s", offset)
	events.until("")
	polled := make(chan reply, 1)
	go func() { polled <- r.call("GET", "s?live=long-poll&offset="+offset, "") }()
	over.Store(true)
	(<-polled).want(503)
	if _, _, err := events.event(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the event stream ends with %v", err)
	}
}

// TestReaderThatNeverReads checks that a reader that never reads is disconnected, and delays
// neither writers nor other readers.
func TestReaderThatNeverReads(t *testing.T) {
	r := open(t)
	r.make("s", asBytes, filled(8<<20))
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET /acme/s?offset=-1&live=sse HTTP/1.1\r\nHost: x\r\nImpatient: 1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	reader := r.follow("s", "now")
	reader.until("")
	r.add("s", asBytes, "more").want(204)
	reader.until("more")
	<-r.cut
}

// failingStore is a store whose reads of streams fail for a while.
type failingStore struct {
	store.Store
	fails atomic.Int64
}

func (m *failingStore) StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]store.StreamPiece, *store.Stream, error) {
	if m.fails.Add(-1) >= 0 {
		return nil, nil, perdure.Errorf(perdure.Unavailable, "not now")
	}
	return m.Store.StreamContent(ctx, id, after, bytes)
}

// TestStoreThatIsAway checks that a failed read of the store is repeated, so that readers do not
// notice a short failure. If the store stays unavailable, the readers get the error.
func TestStoreThatIsAway(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := &failingStore{Store: opentest.Store(t)}
	hints := &notify.Local{}
	r := serve(t, s, hints)
	offset := r.make("s", asText, "a").next()
	x, err := s.Stream(t.Context(), "acme", "s")
	if err != nil {
		t.Fatal(err)
	}
	poll := func() <-chan reply {
		polled := make(chan reply, 1)
		go func() { polled <- r.call("GET", "s?live=long-poll&offset="+offset, "") }()
		r.awaitReaders(1)
		return polled
	}
	polled := poll()
	s.fails.Store(patience - 1)
	for s.fails.Load() > 0 {
		hints.Publish(notify.Stream(x.ID))
	}
	r.add("s", asText, "b").want(204)
	if got := (<-polled).want(http.StatusOK); got.body != "b" {
		t.Errorf("it gives %q", got.body)
	}
	offset = r.call("HEAD", "s", "").next()
	polled = poll()
	s.fails.Store(1 << 40)
	(<-polled).want(http.StatusServiceUnavailable)
}
