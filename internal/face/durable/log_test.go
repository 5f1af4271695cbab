package durable_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// durableItems returns the log records in the body of a response.
func durableItems(t *testing.T, raw []byte) []wsEvent {
	t.Helper()
	var items []wsEvent
	if err := json.Unmarshal(raw, &items); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return items
}

func lineOf(e wsEvent) string { return fmt.Sprintf("%s %s %s\n", e.Cursor, e.Event, e.Data) }

// TestDurableStreamIsTheLog checks that the log of a completed run, read as a durable stream,
// equals its event stream without the end event. A read from any offset returns the records after
// this offset.
func TestDurableStreamIsTheLog(t *testing.T) {
	h := open(t)
	r := play(h)
	var want strings.Builder
	for _, e := range h.Follow(h.Path(r.ID, "/stream/consolidated")).All() {
		if e.Event != "end" {
			fmt.Fprintf(&want, "%s %s %s\n", e.ID, e.Event, e.Data)
		}
	}
	whole := h.Call("GET", durable(r.ID, ""), "").Want(200, nil)
	var got strings.Builder
	for _, e := range durableItems(t, whole.Body) {
		got.WriteString(lineOf(e))
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want.String())
	}
	for name, value := range map[string]string{"Stream-Up-To-Date": "true", "Stream-Closed": "true", "Content-Type": "application/json"} {
		if whole.Header.Get(name) != value {
			t.Errorf("%s is %q", name, whole.Header.Get(name))
		}
	}
	end := whole.Header.Get("Stream-Next-Offset")
	if head := h.Call("HEAD", durable(r.ID, ""), "").Want(200, nil); head.Header.Get("Stream-Next-Offset") != end || head.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD says %v", head.Header)
	}
	items := durableItems(t, whole.Body)
	for n := range len(items) + 1 {
		offset := fmt.Sprintf("%020d", n)
		rest := durableItems(t, h.Call("GET", durable(r.ID, "?offset="+offset), "").Want(200, nil).Body)
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
	again := h.Call("GET", durable(r.ID, ""), "", "If-None-Match", whole.Header.Get("ETag"))
	if again.Want(304, nil); len(again.Body) != 0 {
		t.Errorf("a known answer is sent again: %s", again.Body)
	}
	if now := h.Call("GET", durable(r.ID, "?offset=now"), "").Want(200, nil); string(now.Body) != "[]" || now.Header.Get("Stream-Next-Offset") != end {
		t.Errorf("offset=now gives %s %v", now.Body, now.Header)
	}
}

func TestDurableStreamThatIsRefused(t *testing.T) {
	h := open(t)
	x := h.Start("")
	for _, query := range []string{
		"?offset=", "?offset=x", "?offset=1", "?offset=-2", "?offset=-1&offset=-1", "?live=sse", "?live=long-poll",
		"?offset=-1&live=forever",
	} {
		h.Call("GET", durable(x.ID, query), "").Problem(400, "invalid_argument", "")
	}
	h.Call("GET", durable(h.ID, ""), "").Problem(404, "not_found", "")
	h.Call("GET", durable(x.ID, ""), "", "Authorization", "").Problem(401, "unauthenticated", "")
	h.Call("GET", durable(x.ID, ""), "", "Authorization", "Bearer "+h.WorkerKey).Problem(403, "permission_denied", "")
	for _, method := range []string{"PUT", "POST", "DELETE"} {
		if got := h.Call(method, durable(x.ID, ""), "[]"); got.Status != http.StatusMethodNotAllowed {
			t.Errorf("%s gives %d", method, got.Status)
		}
	}
}

// later returns a value of Stream-Cursor that is much later than the one in the response.
func later(t *testing.T, r reply) string {
	t.Helper()
	c, err := strconv.ParseInt(r.Header.Get("Stream-Cursor"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(c+1_000_000*10_000_000, 10)
}

// TestDurableLongPoll checks that a waiting long poll returns a new record, with a Stream-Cursor
// that is newer than that of the request. At the end of the log of an ended execution, the response
// is 204 with Stream-Closed.
func TestDurableLongPoll(t *testing.T) {
	h := open(t)
	x := h.Start("")
	first := h.Call("GET", durable(x.ID, "?offset=-1&live=long-poll"), "").Want(200, nil)
	next := first.Header.Get("Stream-Next-Offset")
	done := make(chan reply, 1)
	go func() {
		done <- h.Call("GET", durable(x.ID, "?offset="+next+"&live=long-poll&cursor="+later(t, first)), "")
	}()
	r := h.Claim()
	got := <-done
	items := durableItems(t, got.Want(200, nil).Body)
	if len(items) == 0 || items[0].Event != "agent.started" {
		t.Errorf("the long poll gives %s", got.Body)
	}
	if c, had := got.Header.Get("Stream-Cursor"), later(t, first); len(c) != len(had) || c <= had {
		t.Errorf("after the cursor %s comes %s", had, c)
	}
	r.Complete()
	rest := h.Call("GET", durable(x.ID, "?offset="+got.Header.Get("Stream-Next-Offset")+"&live=long-poll"), "").Want(200, nil)
	over := h.Call("GET", durable(x.ID, "?offset="+rest.Header.Get("Stream-Next-Offset")+"&live=long-poll"), "").Want(204, nil)
	if over.Header.Get("Stream-Closed") != "true" || over.Header.Get("Stream-Up-To-Date") != "true" || len(over.Body) != 0 {
		t.Errorf("at the end: %v %s", over.Header, over.Body)
	}
}

// TestDurableEventStream checks that an event stream sends batches of records until the end of the
// log. A control event with the next offset follows each batch.
func TestDurableEventStream(t *testing.T) {
	h := open(t)
	x := h.Start("")
	res, err := http.DefaultTransport.RoundTrip(h.Request("GET", durable(x.ID, "?offset=-1&live=sse"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s := &stream{T: t, Response: res, Scan: bufio.NewReader(res.Body)}
	var got strings.Builder
	pos := 0
	batch := func() (closed bool) {
		name, data := s.Block()
		if name == "data" {
			for _, e := range durableItems(t, []byte(data)) {
				got.WriteString(lineOf(e))
				pos++
			}
			name, data = s.Block()
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
	r := h.Claim()
	r.Stream(0, 0, "token", "hello")
	r.Complete()
	for !batch() {
	}
	var want strings.Builder
	for _, e := range h.Follow(h.Path(x.ID, "/stream/consolidated")).All() {
		if e.Event != "end" {
			fmt.Fprintf(&want, "%s %s %s\n", e.ID, e.Event, e.Data)
		}
	}
	if got.String() != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want.String())
	}
}

// TestARangeOfALogThatChangedIsGivenAgain checks a repeated read of a range of a log, with the ETag
// of the first read, after a block in the range was superseded. The response has the new content
// instead of 304.
func TestARangeOfALogThatChangedIsGivenAgain(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	lease := r.Schedule("llm-request", "one")
	frames := make([]frame, 1100) // one response does not hold so many
	for i := range frames {
		frames[i] = frame{Lease: &lease, Type: "token", Offset: int64(i), Text: "x"}
	}
	r.Append(frames...)
	first := h.Call("GET", durable(x.ID, ""), "").Want(200, nil)
	tag, next := first.Header.Get("ETag"), first.Header.Get("Stream-Next-Offset")
	if first.Header.Get("Stream-Up-To-Date") != "" {
		t.Fatal("one answer has all of the log: this test needs more")
	}
	h.Call("GET", durable(x.ID, ""), "", "If-None-Match", tag).Want(304, nil)
	r.Fail(lease)
	again := h.Call("GET", durable(x.ID, ""), "", "If-None-Match", tag).Want(200, nil)
	if again.Header.Get("Stream-Next-Offset") != next || string(again.Body) == string(first.Body) {
		t.Errorf("the range to %s gives the same up to %s", next, again.Header.Get("Stream-Next-Offset"))
	}
	h.Call("GET", durable(x.ID, ""), "", "If-None-Match", again.Header.Get("ETag")).Want(304, nil)
}
