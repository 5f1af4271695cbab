package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/httpapi"
	"github.com/perdure/perdure/internal/store"
)

func TestStreamHeadersAndShape(t *testing.T) {
	h := open(t)
	r := play(h)
	s := h.follow(h.path(r.id, "/stream/consolidated"))
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := s.res.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	events := s.all()
	var last int64
	for _, e := range events[:len(events)-1] {
		if e.id == "" || e.fields["agentExecutionId"] != r.id.String() || e.fields["createdAt"] == nil {
			t.Errorf("an event %+v", e)
		}
		if e.seq() > last+1 {
			t.Errorf("seq %d follows %d", e.seq(), last)
		}
		last = max(last, e.seq())
	}
	if events[0].event != "agent.created" || events[len(events)-2].event != "agent.completed" {
		t.Errorf("came\n%s", show(events))
	}
}

func TestTrap58_StreamCutAtEveryEventAndResumedEqualsWhole(t *testing.T) {
	h := open(t)
	r := play(h)
	for _, kind := range []string{"/stream", "/stream/consolidated"} {
		whole := h.follow(h.path(r.id, kind)).all()
		for i, cut := range whole {
			if i >= len(whole)-2 {
				h.call("GET", h.path(r.id, kind), "", "Last-Event-ID", cut.id).want(204, nil)
				continue
			}
			rest := h.follow(h.path(r.id, kind), "Last-Event-ID", cut.id).all()
			if show(rest) != show(whole[i+1:]) {
				t.Errorf("%s resumed after event %d:\n%s\nwant\n%s", kind, i, show(rest), show(whole[i+1:]))
			}
		}
	}
}

func TestTrap23_LiveStreamEqualsReplay(t *testing.T) {
	h := open(t)
	x := h.start("")
	early := h.follow(h.path(x.ID, "/stream/consolidated"))
	early.must() // is live now
	r := h.claim()
	r.say(userText("hi"))
	r.stream(0, 0, "token", "a")
	late := h.follow(h.path(x.ID, "/stream/consolidated"))
	for i := range 200 {
		r.stream(0, int64(i+1), "token", "b")
	}
	r.say(assistantText("x"))
	r.complete()
	whole := show(h.follow(h.path(x.ID, "/stream/consolidated")).all())
	if got := show(late.all()); got != whole {
		t.Errorf("live came\n%s\nwant\n%s", got, whole)
	}
	if got := early.all(); !strings.HasSuffix(whole, show(got)) || len(got) < 200 {
		t.Errorf("the early reader saw %d other events", len(got))
	}
}

func TestFilteredStreamSparesTasksAndTerminal(t *testing.T) {
	h := open(t)
	r := play(h)
	all := h.follow(h.path(r.id, "/stream/consolidated")).all()
	left := map[int64]bool{}
	for _, e := range all {
		if strings.HasPrefix(e.event, "task.") || e.event == "terminal" {
			left[e.seq()] = true
		}
	}
	if len(left) < 5 {
		t.Fatalf("nothing to leave out in\n%s", show(all))
	}
	var last int64
	for _, e := range h.follow(h.path(r.id, "/stream")).all() {
		if left[e.seq()] {
			t.Errorf("%s was not left out", e.event)
		}
		if e.event == "end" {
			continue
		}
		spared, ok := e.fields["prevSeq"].(float64)
		if !ok || (spared > 0 && !left[int64(spared)]) {
			t.Errorf("prevSeq of %s", e.data)
		}
		if e.seq() > last && e.seq() != max(last, int64(spared))+1 {
			t.Errorf("after seq %d came %s", last, e.data)
		}
		last = max(last, e.seq())
	}
}

func TestStreamPositions(t *testing.T) {
	h := open(t)
	r := play(h)
	path := h.path(r.id, "/stream/consolidated")
	whole := h.follow(path).all()
	third := h.follow(path + "?after=" + whole[2].id).all()
	if show(third) != show(whole[3:]) {
		t.Errorf("after= gives\n%s", show(third))
	}
	// Last-Event-ID takes precedence over after, and after over after_seq.
	if got := h.follow(path+"?after="+whole[0].id, "Last-Event-ID", whole[2].id).all(); show(got) != show(third) {
		t.Errorf("Last-Event-ID gives\n%s", show(got))
	}
	if got := h.follow(path + "?after_seq=1&after=" + whole[2].id).all(); show(got) != show(third) {
		t.Errorf("after with after_seq gives\n%s", show(got))
	}
	reset := h.follow(path, "Last-Event-ID", "AAAAAAAAAAEB").all()
	if reset[0].event != "reset" || reset[0].fields["reason"] != "epoch" || show(reset[1:]) != show(whole) {
		t.Errorf("another log's cursor gives\n%s", show(reset))
	}
	h.call("GET", path, "", "Last-Event-ID", "no cursor").problem(400, "invalid_argument", "Last-Event-ID")
	h.call("GET", path+"?after=!", "").problem(400, "invalid_argument", "after")
	h.call("GET", path+"?after_seq=x", "").problem(400, "invalid_argument", "after_seq")
	h.call("GET", path+"?after_seq=-1", "").problem(400, "invalid_argument", "after_seq")
	h.call("GET", h.path(h.id, "/stream"), "").problem(404, "not_found", "")
}

func TestAfterSeqSnapshots(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	r.stream(0, 0, "token", "Hello ")
	r.stream(1, 0, "terminal", "$ ")
	r.say(userText("hi"))
	var now maxSeq
	h.call("GET", h.path(x.ID, ""), "").want(200, &now)
	for _, c := range []struct {
		kind string
		want int
	}{{"/stream/consolidated", 2}, {"/stream", 1}} {
		s := h.follow(fmt.Sprintf("%s?after_seq=%d", h.path(x.ID, c.kind), now.MaxSeq))
		for i := range c.want {
			e := s.must()
			if e.event != "snapshot" || e.fields["snapshot"] != true || e.fields["offset"] != float64(0) {
				t.Errorf("%s: item %d is %s %s", c.kind, i, e.event, e.data)
			}
			if i == 0 && e.fields["data"] != "Hello " {
				t.Errorf("%s: the block is %s", c.kind, e.data)
			}
		}
		defer func() {
			if e := s.must(); e.event != "token" || e.fields["offset"] != float64(6) || e.fields["data"] != "wörld" {
				t.Errorf("%s: then came %s %s", c.kind, e.event, e.data)
			}
		}()
	}
	r.stream(0, 6, "token", "wörld")
}

func TestTrap28_StopResetsStreams(t *testing.T) {
	h := open(t)
	x := h.start("")
	s := h.follow(h.path(x.ID, "/stream"))
	s.must()
	close(h.stop)
	if e, err := s.next(); err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ended with %+v, %v: a client takes that for its end", e, err)
	}
}

func TestPingsCarryTheCursor(t *testing.T) {
	h := open(t, func(c *httpapi.Config) { c.PingEvery = 1 })
	x := h.start("")
	r := h.claim()
	s := h.follow(h.path(x.ID, "/stream"))
	first := s.must()
	s.must() // agent.started
	r.task("bash", "one")
	e := s.must()
	for e.event != "ping" {
		e = s.must()
	}
	if e.id == "" || e.id == first.id {
		t.Errorf("a ping %+v", e)
	}
	s2 := h.follow(h.path(x.ID, "/stream/consolidated"), "Last-Event-ID", e.id)
	if again := s2.must(); again.event != "ping" && strings.HasPrefix(again.event, "agent.") {
		t.Errorf("the ping's cursor leads to %s", again.event)
	}
}

func TestRevokedKeyStopsOpenStreams(t *testing.T) {
	h := open(t, func(c *httpapi.Config) { c.RecheckEvery = 1 })
	x := h.start("")
	key, secret, err := h.engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	s := h.follow(h.path(x.ID, "/stream"), "Authorization", "Bearer "+secret)
	s.must()
	h.call("DELETE", "/keys/"+key.ID.String(), "", "Authorization", "Bearer "+h.admin).want(200, nil)
	for {
		_, err := s.next()
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error("the stream ended as if it were over")
		}
		break
	}
	h.call("GET", h.path(x.ID, ""), "", "Authorization", "Bearer "+secret).problem(401, "unauthenticated", "")
}

// maxSeq is the part of an execution that this test reads.
type maxSeq struct{ MaxSeq int64 }

// A retried attempt withdraws what it had shown; its seq stays.
func TestSupersededBlockKeepsItsSeq(t *testing.T) {
	h := open(t)
	h.start("")
	r := h.claim()
	lease := r.schedule("llm-request", "one")
	r.append(
		frame{Lease: &lease, Type: "token", Text: "draft"},
		frame{Lease: &lease, Type: "token", Offset: 5, Text: " of it"},
	)
	r.fail(lease)
	r.say(userText("hi"))
	r.complete()
	var last int64
	var shown []string
	for _, e := range h.follow(h.path(r.id, "/stream/consolidated")).all() {
		if e.seq() > last+1 {
			t.Errorf("seq %d follows %d", e.seq(), last)
		}
		last = max(last, e.seq())
		if e.event == "token" {
			shown = append(shown, e.fields["data"].(string))
		}
	}
	if len(shown) != 1 || shown[0] != "" {
		t.Errorf("of the superseded block came %q", shown)
	}
}

// A block that an attempt had closed before it failed is withdrawn by another block.closed. Later
// readers see nothing of it, on any interface.
func TestBlockThatHadClosedIsTakenBack(t *testing.T) {
	h := open(t)
	h.start("")
	r := h.claim()
	lease := r.schedule("llm-request", "one")
	live := h.follow(h.path(r.id, "/stream/consolidated"))
	r.append(
		frame{Lease: &lease, Type: "thinking", Text: "a thought", Close: true},
		frame{Lease: &lease, Type: "token", Block: 1, Text: "a draft"},
	)
	r.fail(lease)
	var ends, kinds []string
	var block float64
	for len(kinds) == 0 || kinds[len(kinds)-1] != "task.retrying" {
		e := live.must()
		kinds = append(kinds, e.event)
		if e.event == "thinking" {
			block = e.fields["seq"].(float64)
		}
		if e.event == "block.closed" && e.fields["blockSeq"] == block {
			ends = append(ends, fmt.Sprint(e.fields["reason"], e.fields["length"]))
		}
	}
	if len(ends) != 2 || ends[0] != "done9" || ends[1] != "superseded9" {
		t.Errorf("the block ends as %v", ends)
	}
	r.say(userText("hi"))
	r.complete()
	for _, path := range []string{"/stream/consolidated", "/stream/consolidated?after_seq=4", "/stream/consolidated?render=html", "/stream"} {
		for _, e := range h.follow(h.path(r.id, path)).all() {
			if strings.Contains(e.data, "a thought") || strings.Contains(e.data, "a draft") || e.event == "snapshot" {
				t.Errorf("%s gives %s %s", path, e.event, e.data)
			}
		}
	}
}

// damaged is a store whose logs have a missing record.
type damaged struct{ store.Reader }

func (d damaged) Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	records, head, err := d.Reader.Log(ctx, execution, after, limit)
	return slices.DeleteFunc(records, func(r perdure.Record) bool { return r.Pos == 2 }), head, err
}

// Damage of a log resets its readers, and is an error in the server's log.
func TestDamageOfALogIsLogged(t *testing.T) {
	logged := make(lineWriter, 100)
	h := open(t, func(c *httpapi.Config) {
		c.Log = eventlog.New(damaged{c.Engine.Read()}, 1, c.Engine.Hints)
		c.Logger = slog.New(slog.NewTextHandler(logged, nil))
	})
	x := h.start("")
	h.claim()
	res, err := http.DefaultTransport.RoundTrip(h.request("GET", h.path(x.ID, "/stream"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if raw, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("the stream ended cleanly after %s", raw)
	}
	select { // written before the connection was reset
	case said := <-logged:
		if !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "lacks its record 2") {
			t.Errorf("the server logged %s", said)
		}
	default:
		t.Error("the server logged nothing")
	}
}

// lineWriter receives the lines of a log.
type lineWriter chan string

func (w lineWriter) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}
