package httpapi_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func durable(id uuid.UUID, query string) string {
	return "./v1/stream/executions/" + id.String() + query
}

// durableItems returns the records of a response.
func durableItems(t *testing.T, raw []byte) []wsEvent {
	t.Helper()
	var items []wsEvent
	if err := json.Unmarshal(raw, &items); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return items
}

func lineOf(e wsEvent) string { return fmt.Sprintf("%s %s %s\n", e.Cursor, e.Event, e.Data) }

// A log read as a durable stream equals the log, from the start and from every offset.
func TestDurableStreamIsTheLog(t *testing.T) {
	h := open(t)
	r := play(h)
	var want strings.Builder
	for _, e := range h.follow(h.path(r.id, "/stream/consolidated")).all() {
		if e.event != "end" {
			fmt.Fprintf(&want, "%s %s %s\n", e.id, e.event, e.data)
		}
	}
	whole := h.call("GET", durable(r.id, ""), "").want(200, nil)
	var got strings.Builder
	for _, e := range durableItems(t, whole.body) {
		got.WriteString(lineOf(e))
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want.String())
	}
	for name, value := range map[string]string{"Stream-Up-To-Date": "true", "Stream-Closed": "true", "Content-Type": "application/json"} {
		if whole.header.Get(name) != value {
			t.Errorf("%s is %q", name, whole.header.Get(name))
		}
	}
	end := whole.header.Get("Stream-Next-Offset")
	if head := h.call("HEAD", durable(r.id, ""), "").want(200, nil); head.header.Get("Stream-Next-Offset") != end || head.header.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD says %v", head.header)
	}
	items := durableItems(t, whole.body)
	for n := range len(items) + 1 {
		offset := fmt.Sprintf("%020d", n)
		rest := durableItems(t, h.call("GET", durable(r.id, "?offset="+offset), "").want(200, nil).body)
		if len(rest) != len(items)-n {
			t.Fatalf("after %s come %d of %d records", offset, len(rest), len(items)-n)
		}
		for i, e := range rest {
			if lineOf(e) != lineOf(items[n+i]) {
				t.Fatalf("after %s record %d differs", offset, i)
			}
		}
		if n > 0 && offset <= fmt.Sprintf("%020d", n-1) {
			t.Fatal("offsets do not sort")
		}
	}
	again := h.call("GET", durable(r.id, ""), "", "If-None-Match", whole.header.Get("ETag"))
	if again.want(304, nil); len(again.body) != 0 {
		t.Errorf("a known answer is sent again: %s", again.body)
	}
	if now := h.call("GET", durable(r.id, "?offset=now"), "").want(200, nil); string(now.body) != "[]" || now.header.Get("Stream-Next-Offset") != end {
		t.Errorf("offset=now gives %s %v", now.body, now.header)
	}
}

func TestDurableStreamThatIsRefused(t *testing.T) {
	h := open(t)
	x := h.start("")
	for _, query := range []string{
		"?offset=", "?offset=x", "?offset=1", "?offset=-2", "?offset=-1&offset=-1", "?live=sse", "?live=long-poll",
		"?offset=-1&live=forever",
	} {
		h.call("GET", durable(x.ID, query), "").problem(400, "invalid_argument", "")
	}
	h.call("GET", durable(h.id, ""), "").problem(404, "not_found", "")
	h.call("GET", durable(x.ID, ""), "", "Authorization", "").problem(401, "unauthenticated", "")
	h.call("GET", durable(x.ID, ""), "", "Authorization", "Bearer "+h.wkey).problem(403, "permission_denied", "")
	for _, method := range []string{"PUT", "POST", "DELETE"} {
		if got := h.call(method, durable(x.ID, ""), "[]"); got.status != http.StatusMethodNotAllowed {
			t.Errorf("%s gives %d", method, got.status)
		}
	}
}

// later returns a cursor that is much later than the response's.
func later(t *testing.T, r reply) string {
	t.Helper()
	c, err := strconv.ParseInt(r.header.Get("Stream-Cursor"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(c+1_000_000*10_000_000, 10)
}

// A long poll returns new records, and reports the end of the stream.
func TestDurableLongPoll(t *testing.T) {
	h := open(t)
	x := h.start("")
	first := h.call("GET", durable(x.ID, "?offset=-1&live=long-poll"), "").want(200, nil)
	next := first.header.Get("Stream-Next-Offset")
	done := make(chan reply, 1)
	go func() {
		done <- h.call("GET", durable(x.ID, "?offset="+next+"&live=long-poll&cursor="+later(t, first)), "")
	}()
	r := h.claim()
	got := <-done
	items := durableItems(t, got.want(200, nil).body)
	if len(items) == 0 || items[0].Event != "agent.started" {
		t.Errorf("the long poll gives %s", got.body)
	}
	if c, had := got.header.Get("Stream-Cursor"), later(t, first); len(c) != len(had) || c <= had {
		t.Errorf("after the cursor %s comes %s", had, c)
	}
	r.complete()
	rest := h.call("GET", durable(x.ID, "?offset="+got.header.Get("Stream-Next-Offset")+"&live=long-poll"), "").want(200, nil)
	over := h.call("GET", durable(x.ID, "?offset="+rest.header.Get("Stream-Next-Offset")+"&live=long-poll"), "").want(204, nil)
	if over.header.Get("Stream-Closed") != "true" || over.header.Get("Stream-Up-To-Date") != "true" || len(over.body) != 0 {
		t.Errorf("at the end: %v %s", over.header, over.body)
	}
}

// An event stream sends batches, each followed by the next offset, during the run and to its end.
func TestDurableEventStream(t *testing.T) {
	h := open(t)
	x := h.start("")
	res, err := http.DefaultTransport.RoundTrip(h.request("GET", durable(x.ID, "?offset=-1&live=sse"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s := &stream{t, res, bufio.NewReader(res.Body)}
	var got strings.Builder
	pos := 0
	batch := func() (closed bool) {
		name, data := s.block()
		if name == "data" {
			for _, e := range durableItems(t, []byte(data)) {
				got.WriteString(lineOf(e))
				pos++
			}
			name, data = s.block()
		}
		var control struct {
			StreamNextOffset       string
			UpToDate, StreamClosed bool
		}
		if err := json.Unmarshal([]byte(data), &control); err != nil || name != "control" {
			t.Fatalf("after a batch comes %s %s", name, data)
		}
		if want := fmt.Sprintf("%020d", pos); control.StreamNextOffset != want || !control.UpToDate {
			t.Errorf("the control says %s, want offset %s", data, want)
		}
		return control.StreamClosed
	}
	batch()
	r := h.claim()
	r.stream(0, 0, "token", "hello")
	r.complete()
	for !batch() {
	}
	var want strings.Builder
	for _, e := range h.follow(h.path(x.ID, "/stream/consolidated")).all() {
		if e.event != "end" {
			fmt.Fprintf(&want, "%s %s %s\n", e.id, e.event, e.data)
		}
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want.String())
	}
}

// block reads one event whose data is not an object.
func (s *stream) block() (name, data string) {
	s.t.Helper()
	for {
		line, err := s.scan.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch key {
		case "":
			return name, data
		case "event":
			name = value
		case "data":
			data = value
		}
	}
}

// A cached range of a log is not confirmed after a block in it was superseded, because the block's
// text is gone.
func TestARangeOfALogThatChangedIsGivenAgain(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	lease := r.schedule("llm-request", "one")
	frames := make([]frame, 1100) // more than one response holds
	for i := range frames {
		frames[i] = frame{Lease: &lease, Type: "token", Offset: int64(i), Text: "x"}
	}
	r.append(frames...)
	first := h.call("GET", durable(x.ID, ""), "").want(200, nil)
	tag, next := first.header.Get("ETag"), first.header.Get("Stream-Next-Offset")
	if first.header.Get("Stream-Up-To-Date") != "" {
		t.Fatal("one answer has all of the log: this test needs more")
	}
	h.call("GET", durable(x.ID, ""), "", "If-None-Match", tag).want(304, nil)
	r.fail(lease)
	again := h.call("GET", durable(x.ID, ""), "", "If-None-Match", tag).want(200, nil)
	if again.header.Get("Stream-Next-Offset") != next || string(again.body) == string(first.body) {
		t.Errorf("the range to %s gives the same up to %s", next, again.header.Get("Stream-Next-Offset"))
	}
	h.call("GET", durable(x.ID, ""), "", "If-None-Match", again.header.Get("ETag")).want(304, nil)
}
