package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// logServer serves one log, from the requested cursor on. The function `cut` can shorten each
// response; it receives the number of the request and the complete response.
type logServer struct {
	t     *testing.T
	items []string // complete frames; the last one is the end
	cut   func(request int, body string) (shown string, clean bool)

	mu      sync.Mutex
	cursors []string // requested cursors
}

func (s *logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/stream/consolidated") {
		s.t.Errorf("asked for %s", r.URL.Path)
	}
	s.mu.Lock()
	n := len(s.cursors)
	cursor := r.Header.Get("Last-Event-ID")
	s.cursors = append(s.cursors, cursor)
	s.mu.Unlock()
	from := 0
	if cursor != "" {
		_, _ = fmt.Sscanf(cursor, "c%d", &from)
	}
	if from == len(s.items) {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	body, clean := s.cut(n, strings.Join(s.items[from:], ""))
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = w.Write([]byte(body))
	_ = http.NewResponseController(w).Flush()
	if !clean {
		panic(http.ErrAbortHandler)
	}
}

// newLog returns the items of a log: n events, of which one is a ping, and then the end of the log. It
// also returns the events that a reader of this log must receive: all except the ping.
func newLog(n int) (items []string, want []string) {
	for i := range n {
		name, data := "token", fmt.Sprintf(`{"seq":%d,"data":"text %d"}`, i+1, i)
		if i == n/2 {
			name, data = "ping", "{}"
		} else {
			want = append(want, fmt.Sprintf("c%d token %s", i+1, data))
		}
		items = append(items, fmt.Sprintf("id: c%d\nevent: %s\ndata: %s\n\n", i+1, name, data))
	}
	end := n + 1
	want = append(want, fmt.Sprintf("c%d agent.completed {}", end))
	items = append(items, fmt.Sprintf("id: c%d\nevent: agent.completed\ndata: {}\n\nid: c%d\nevent: end\ndata: {}\n\n", end, end))
	return items, want
}

// newClient creates a client of h. The client does not wait: it records the lengths of its pauses.
func newClient(t *testing.T, h http.Handler) (*Client, *[]time.Duration) {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = nil
	s.Start()
	t.Cleanup(s.Close)
	c, err := New(Options{BaseURL: s.URL, Key: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	var pauses []time.Duration
	c.wait = func(ctx context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return context.Cause(ctx)
	}
	c.rand = func() float64 { return 1 }
	return c, &pauses
}

func follow1(t *testing.T, c *Client, cursor string) ([]string, error) {
	t.Helper()
	var got []string
	for e, err := range c.Follow(t.Context(), uuid.New(), cursor) {
		if err != nil {
			return got, err
		}
		got = append(got, fmt.Sprintf("%s %s %s", e.Cursor, e.Type, e.Data))
	}
	return got, nil
}

// TestFollowSurvivesACutAtEveryByte checks that the stream may break after any byte, even inside a
// line. The reader receives every event once and in order.
func TestFollowSurvivesACutAtEveryByte(t *testing.T) {
	items, want := newLog(4)
	whole := strings.Join(items, "")
	for _, clean := range []bool{false, true} {
		for at := range len(whole) {
			s := &logServer{t: t, items: items, cut: func(request int, body string) (string, bool) {
				if request == 0 {
					return body[:at], clean
				}
				return body, true
			}}
			c, _ := newClient(t, s)
			got, err := follow1(t, c, "")
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Fatalf("cut at byte %d (clean: %v): %v %s", at, clean, err, diff)
			}
		}
	}
}

// TestFollowSurvivesACutAtEveryEvent checks that if the stream breaks after each event, the reader
// still receives the whole log. After each received event the pause starts again at 1 s.
func TestFollowSurvivesACutAtEveryEvent(t *testing.T) {
	items, want := newLog(6)
	s := &logServer{t: t, items: items, cut: func(_ int, body string) (string, bool) {
		first, _, _ := strings.Cut(body, "\n\n")
		return first + "\n\n", false
	}}
	c, pauses := newClient(t, s)
	got, err := follow1(t, c, "")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(err, diff)
	}
	for _, p := range *pauses {
		if p != time.Second {
			t.Errorf("paused %v", *pauses)
		}
	}
	if want := []string{"", "c1", "c2", "c3", "c4", "c5", "c6", "c7"}; !slices.Equal(s.cursors, want) {
		t.Errorf("asked from %q, want %q", s.cursors, want)
	}
}

func TestFollowPausesLongerAndLonger(t *testing.T) {
	tries := 0
	items, want := newLog(1)
	s := &logServer{t: t, items: items, cut: func(_ int, body string) (string, bool) { return body, true }}
	c, pauses := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries <= 7 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		s.ServeHTTP(w, r)
	}))
	var told int
	c = c.With(func(o *Options) { o.OnReconnect = func(error, time.Duration) { told++ } })
	got, err := follow1(t, c, "")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(err, diff)
	}
	second := time.Second
	wantPauses := []time.Duration{second, 2 * second, 4 * second, 8 * second, 16 * second, 30 * second, 30 * second}
	if diff := cmp.Diff(wantPauses, *pauses); diff != "" || told != 7 {
		t.Errorf("told %d times; pauses: %s", told, diff)
	}
}

func TestFollowHeedsRetryAfterAndJitters(t *testing.T) {
	tries := 0
	c, pauses := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch tries++; tries {
		case 1:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.WriteHeader(http.StatusBadGateway)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	c.rand = func() float64 { return 0 }
	if got, err := follow1(t, c, "c9"); len(got) != 0 || err != nil {
		t.Fatal(got, err)
	}
	if diff := cmp.Diff([]time.Duration{7 * time.Second, time.Second}, *pauses); diff != "" {
		t.Error(diff)
	}
}

// TestFollowEndsWhenItIsRefused checks that Follow ends without a pause after an error that another
// attempt cannot correct.
func TestFollowEndsWhenItIsRefused(t *testing.T) {
	for status, code := range map[int]perdure.Code{
		400: perdure.InvalidArgument, 401: perdure.Unauthenticated, 403: perdure.PermissionDenied, 404: perdure.NotFound,
	} {
		c, pauses := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		_, err := follow1(t, c, "")
		if !perdure.IsCode(err, code) || len(*pauses) > 0 {
			t.Errorf("%d: %v after %d pauses", status, err, len(*pauses))
		}
	}
}

func TestFollowHandsOnAReset(t *testing.T) {
	s := &logServer{t: t, items: []string{
		"id: c1\nevent: reset\ndata: {\"reason\":\"epoch\",\"firstAvailable\":1,\"lastSeq\":9}\n\n",
		"id: c2\nevent: end\ndata: {}\n\n",
	}, cut: func(_ int, body string) (string, bool) { return body, true }}
	c, _ := newClient(t, s)
	var got []Reset
	for e, err := range c.Follow(t.Context(), uuid.New(), "c0") {
		if err != nil {
			t.Fatal(err)
		}
		var r Reset
		if err := e.Decode(&r); err != nil || e.Type != EventReset {
			t.Fatal(e, err)
		}
		got = append(got, r)
	}
	if diff := cmp.Diff([]Reset{{"epoch", 1, 9}}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFollowEndsWithItsReader checks that no goroutine of Follow remains (goleak) if its caller leaves
// the loop, or if the context ends. In the second case, the last error is the context's cause.
func TestFollowEndsWithItsReader(t *testing.T) {
	blocked := make(chan struct{})
	defer close(blocked)
	serve := func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("id: c1\nevent: token\ndata: {}\n\n"))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-blocked:
		case <-r.Context().Done():
		}
	}
	c, _ := newClient(t, http.HandlerFunc(serve))
	for range c.Follow(t.Context(), uuid.New(), "") {
		break
	}
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	for _, err := range c.Follow(ctx, uuid.New(), "") {
		last = err
		cancel(why)
	}
	if !errors.Is(last, why) {
		t.Errorf("ended with %v", last)
	}
}

// TestFollowGivesUpOnSilence checks that a stream ends if it is silent for longer than Client.idle,
// and that Follow then opens a new one.
func TestFollowGivesUpOnSilence(t *testing.T) {
	var again atomic.Bool
	c, pauses := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if again.Load() {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	c.idle = 10 * time.Millisecond
	var why error
	c.o.OnReconnect = func(cause error, _ time.Duration) {
		why = cause
		again.Store(true)
		c.idle = time.Hour // a slow machine must not count as silence
	}
	if _, err := follow1(t, c, "c1"); err != nil || len(*pauses) != 1 || !errors.Is(why, errSilent) {
		t.Errorf("%v after %d pauses, because of %v", err, len(*pauses), why)
	}
}

// TestEveryPieceOfAnEventCounts checks that each part of an event counts as activity, so a large event
// that arrives slowly is not silence.
func TestEveryPieceOfAnEventCounts(t *testing.T) {
	alive := 0
	const text = "id: c1\nevent: token\ndata: {}\n\n"
	in := newFrames(iotest.OneByteReader(strings.NewReader(text)), func() { alive++ })
	if e, err := in.next(); err != nil || e.Cursor != "c1" {
		t.Fatalf("%+v, %v", e, err)
	}
	if alive != len(text) {
		t.Errorf("heard %d times in %d pieces", alive, len(text))
	}
}

// pipeServer is a server in this process whose stream is the content of a pipe. It needs no
// network, so it can run in a synctest bubble.
type pipeServer struct{ streams chan *io.PipeReader }

func (s pipeServer) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: <-s.streams}, nil
}

// TestACallerMayTakeItsTime checks that the loop over the events may spend any time on an event.
// That time does not count as silence, and the stream continues.
func TestACallerMayTakeItsTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s := pipeServer{make(chan *io.PipeReader, 1)}
		in, out := io.Pipe()
		s.streams <- in
		c, err := New(Options{BaseURL: "http://server", HTTPClient: &http.Client{Transport: s}, OnReconnect: func(cause error, _ time.Duration) {
			t.Errorf("it reconnects: %v", cause)
		}})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for _, text := range []string{"id: c1\nevent: token\ndata: {}\n\n", "id: c2\nevent: token\ndata: {}\n\n", "event: end\ndata: {}\n\n"} {
				time.Sleep(c.idle / 2)
				if _, err := io.WriteString(out, text); err != nil {
					t.Error(err)
				}
			}
		}()
		var got []string
		for e, err := range c.Follow(t.Context(), uuid.New(), "") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Cursor)
			time.Sleep(3 * c.idle)
		}
		if len(got) != 2 || got[0] != "c1" || got[1] != "c2" {
			t.Errorf("the events are %q", got)
		}
	})
}
