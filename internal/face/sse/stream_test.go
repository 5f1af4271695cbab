package sse_test

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
	"github.com/perdure/perdure/internal/face"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/store"
)

func TestStreamHeadersAndShape(t *testing.T) {
	h := open(t)
	r := play(h)
	s := h.Follow(h.Path(r.ID, "/stream/consolidated"))
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
	} {
		if got := s.Response.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	events := s.All()
	var last int64
	for _, e := range events[:len(events)-1] {
		if e.ID == "" || e.Fields["agentExecutionId"] != r.ID.String() || e.Fields["createdAt"] == nil {
			t.Errorf("an event %+v", e)
		}
		if e.Seq() > last+1 {
			t.Errorf("seq %d follows %d", e.Seq(), last)
		}
		last = max(last, e.Seq())
	}
	if events[0].Event != "agent.created" || events[len(events)-2].Event != "agent.completed" {
		t.Errorf("came\n%s", show(events))
	}
}

func TestStreamResumedAfterEveryEventEqualsWhole(t *testing.T) {
	h := open(t)
	r := play(h)
	for _, kind := range []string{"/stream", "/stream/consolidated"} {
		whole := h.Follow(h.Path(r.ID, kind)).All()
		for i, cut := range whole {
			if i >= len(whole)-2 {
				h.Call("GET", h.Path(r.ID, kind), "", "Last-Event-ID", cut.ID).Want(204, nil)
				continue
			}
			rest := h.Follow(h.Path(r.ID, kind), "Last-Event-ID", cut.ID).All()
			if show(rest) != show(whole[i+1:]) {
				t.Errorf("%s resumed after event %d:\n%s\nwant\n%s", kind, i, show(rest), show(whole[i+1:]))
			}
		}
	}
}

func TestLiveStreamEqualsReplay(t *testing.T) {
	h := open(t)
	x := h.Start("")
	early := h.Follow(h.Path(x.ID, "/stream/consolidated"))
	early.Must() // the reader has caught up with the log
	r := h.Claim()
	r.Say(userText("hi"))
	r.Stream(0, 0, "token", "a")
	late := h.Follow(h.Path(x.ID, "/stream/consolidated"))
	for i := range 200 {
		r.Stream(0, int64(i+1), "token", "b")
	}
	r.Say(assistantText("x"))
	r.Complete()
	whole := show(h.Follow(h.Path(x.ID, "/stream/consolidated")).All())
	if got := show(late.All()); got != whole {
		t.Errorf("live came\n%s\nwant\n%s", got, whole)
	}
	if got := early.All(); !strings.HasSuffix(whole, show(got)) || len(got) < 200 {
		t.Errorf("the early reader saw %d other events", len(got))
	}
}

func TestFilteredStreamSparesTasksAndTerminal(t *testing.T) {
	h := open(t)
	r := play(h)
	all := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
	left := map[int64]bool{}
	for _, e := range all {
		if strings.HasPrefix(e.Event, "task.") || e.Event == "terminal" {
			left[e.Seq()] = true
		}
	}
	if len(left) < 5 {
		t.Fatalf("nothing to leave out in\n%s", show(all))
	}
	var last int64
	for _, e := range h.Follow(h.Path(r.ID, "/stream")).All() {
		if left[e.Seq()] {
			t.Errorf("%s was not left out", e.Event)
		}
		if e.Event == "end" {
			continue
		}
		spared, ok := e.Fields["prevSeq"].(float64)
		if !ok || (spared > 0 && !left[int64(spared)]) {
			t.Errorf("prevSeq of %s", e.Data)
		}
		if e.Seq() > last && e.Seq() != max(last, int64(spared))+1 {
			t.Errorf("after seq %d came %s", last, e.Data)
		}
		last = max(last, e.Seq())
	}
}

func TestStreamPositions(t *testing.T) {
	h := open(t)
	r := play(h)
	path := h.Path(r.ID, "/stream/consolidated")
	whole := h.Follow(path).All()
	third := h.Follow(path + "?after=" + whole[2].ID).All()
	if show(third) != show(whole[3:]) {
		t.Errorf("after= gives\n%s", show(third))
	}
	// Last-Event-ID takes precedence over the parameter `after`, which takes precedence over
	// after_seq.
	if got := h.Follow(path+"?after="+whole[0].ID, "Last-Event-ID", whole[2].ID).All(); show(got) != show(third) {
		t.Errorf("Last-Event-ID gives\n%s", show(got))
	}
	if got := h.Follow(path + "?after_seq=1&after=" + whole[2].ID).All(); show(got) != show(third) {
		t.Errorf("after with after_seq gives\n%s", show(got))
	}
	reset := h.Follow(path, "Last-Event-ID", "AAAAAAAAAAEB").All()
	if reset[0].Event != "reset" || reset[0].Fields["reason"] != "epoch" || show(reset[1:]) != show(whole) {
		t.Errorf("another log's cursor gives\n%s", show(reset))
	}
	h.Call("GET", path, "", "Last-Event-ID", "no cursor").Problem(400, "invalid_argument", "Last-Event-ID")
	h.Call("GET", path+"?after=!", "").Problem(400, "invalid_argument", "after")
	h.Call("GET", path+"?after_seq=x", "").Problem(400, "invalid_argument", "after_seq")
	h.Call("GET", path+"?after_seq=-1", "").Problem(400, "invalid_argument", "after_seq")
	h.Call("GET", h.Path(h.ID, "/stream"), "").Problem(404, "not_found", "")
}

func TestAfterSeqSnapshots(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	r.Stream(0, 0, "token", "Hello ")
	r.Stream(1, 0, "terminal", "$ ")
	r.Say(userText("hi"))
	var now maxSeq
	h.Call("GET", h.Path(x.ID, ""), "").Want(200, &now)
	for _, c := range []struct {
		kind string
		want int
	}{{"/stream/consolidated", 2}, {"/stream", 1}} {
		s := h.Follow(fmt.Sprintf("%s?after_seq=%d", h.Path(x.ID, c.kind), now.MaxSeq))
		for i := range c.want {
			e := s.Must()
			if e.Event != "snapshot" || e.Fields["snapshot"] != true || e.Fields["offset"] != float64(0) {
				t.Errorf("%s: item %d is %s %s", c.kind, i, e.Event, e.Data)
			}
			if i == 0 && e.Fields["data"] != "Hello " {
				t.Errorf("%s: the block is %s", c.kind, e.Data)
			}
		}
		defer func() {
			if e := s.Must(); e.Event != "token" || e.Fields["offset"] != float64(6) || e.Fields["data"] != "wörld" {
				t.Errorf("%s: then came %s %s", c.kind, e.Event, e.Data)
			}
		}()
	}
	r.Stream(0, 6, "token", "wörld")
}

func TestServerStopResetsStreams(t *testing.T) {
	h := open(t)
	x := h.Start("")
	s := h.Follow(h.Path(x.ID, "/stream"))
	s.Must()
	close(h.Stop)
	if e, err := s.Next(); err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the stream ended with %+v, %v: a client takes that for its end", e, err)
	}
}

func TestPingsCarryTheCursor(t *testing.T) {
	h := open(t, func(c *face.Config) { c.PingEvery = 1 })
	x := h.Start("")
	r := h.Claim()
	s := h.Follow(h.Path(x.ID, "/stream"))
	first := s.Must()
	s.Must() // the event agent.started
	r.Task("bash", "one")
	e := s.Must()
	for e.Event != "ping" {
		e = s.Must()
	}
	if e.ID == "" || e.ID == first.ID {
		t.Errorf("a ping %+v", e)
	}
	s2 := h.Follow(h.Path(x.ID, "/stream/consolidated"), "Last-Event-ID", e.ID)
	if again := s2.Must(); again.Event != "ping" && strings.HasPrefix(again.Event, "agent.") {
		t.Errorf("the ping's cursor leads to %s", again.Event)
	}
}

func TestRevokedKeyStopsOpenStreams(t *testing.T) {
	h := open(t, func(c *face.Config) { c.RecheckEvery = 1 })
	x := h.Start("")
	key, secret, err := h.Engine.CreateKey(t.Context(), "default", "brief", "client")
	if err != nil {
		t.Fatal(err)
	}
	s := h.Follow(h.Path(x.ID, "/stream"), "Authorization", "Bearer "+secret)
	s.Must()
	h.Call("DELETE", "/keys/"+key.ID.String(), "", "Authorization", "Bearer "+h.AdminKey).Want(200, nil)
	for {
		_, err := s.Next()
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Error("the stream ended as if it were over")
		}
		break
	}
	h.Call("GET", h.Path(x.ID, ""), "", "Authorization", "Bearer "+secret).Problem(401, "unauthenticated", "")
}

// maxSeq contains the only member of an execution that the tests in this file read.
type maxSeq struct{ MaxSeq int64 }

// TestSupersededBlockKeepsItsSeq checks a reader that connects after an attempt has failed: it gets
// the block of that attempt as one event without text. The seqs have no gap.
func TestSupersededBlockKeepsItsSeq(t *testing.T) {
	h := open(t)
	h.Start("")
	r := h.Claim()
	lease := r.Schedule("llm-request", "one")
	r.Append(
		frame{Lease: &lease, Type: "token", Text: "draft"},
		frame{Lease: &lease, Type: "token", Offset: 5, Text: " of it"},
	)
	r.Fail(lease)
	r.Say(userText("hi"))
	r.Complete()
	var last int64
	var shown []string
	for _, e := range h.Follow(h.Path(r.ID, "/stream/consolidated")).All() {
		if e.Seq() > last+1 {
			t.Errorf("seq %d follows %d", e.Seq(), last)
		}
		last = max(last, e.Seq())
		if e.Event == "token" {
			shown = append(shown, e.Fields["data"].(string))
		}
	}
	if len(shown) != 1 || shown[0] != "" {
		t.Errorf("of the superseded block came %q", shown)
	}
}

// TestBlockThatHadClosedIsTakenBack checks that a block that was closed before its attempt failed
// gets a second block.closed with the reason superseded. Event streams that begin after that
// contain no text of the block.
func TestBlockThatHadClosedIsTakenBack(t *testing.T) {
	h := open(t)
	h.Start("")
	r := h.Claim()
	lease := r.Schedule("llm-request", "one")
	live := h.Follow(h.Path(r.ID, "/stream/consolidated"))
	r.Append(
		frame{Lease: &lease, Type: "thinking", Text: "a thought", Close: true},
		frame{Lease: &lease, Type: "token", Block: 1, Text: "a draft"},
	)
	r.Fail(lease)
	var ends, kinds []string
	var block float64
	for len(kinds) == 0 || kinds[len(kinds)-1] != "task.retrying" {
		e := live.Must()
		kinds = append(kinds, e.Event)
		if e.Event == "thinking" {
			block = e.Fields["seq"].(float64)
		}
		if e.Event == "block.closed" && e.Fields["blockSeq"] == block {
			ends = append(ends, fmt.Sprint(e.Fields["reason"], e.Fields["length"]))
		}
	}
	if len(ends) != 2 || ends[0] != "done9" || ends[1] != "superseded9" {
		t.Errorf("the block ends as %v", ends)
	}
	r.Say(userText("hi"))
	r.Complete()
	for _, path := range []string{"/stream/consolidated", "/stream/consolidated?after_seq=4", "/stream/consolidated?render=html", "/stream"} {
		for _, e := range h.Follow(h.Path(r.ID, path)).All() {
			if strings.Contains(e.Data, "a thought") || strings.Contains(e.Data, "a draft") || e.Event == "snapshot" {
				t.Errorf("%s gives %s %s", path, e.Event, e.Data)
			}
		}
	}
}

// damagedLog is a store whose logs have a missing record.
type damagedLog struct{ store.LogReader }

func (d damagedLog) Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	records, head, err := d.LogReader.Log(ctx, execution, after, limit)
	return slices.DeleteFunc(records, func(r perdure.Record) bool { return r.Pos == 2 }), head, err
}

// TestDamageOfALogIsLogged checks that if a record of a log is missing, the server resets the
// connection of the stream and logs an error.
func TestDamageOfALogIsLogged(t *testing.T) {
	logged := make(lineWriter, 100)
	h := open(t, func(c *face.Config) {
		c.Log = eventlog.New(damagedLog{c.Engine.Read()}, 1, c.Engine.Hints)
		c.Logger = slog.New(slog.NewTextHandler(logged, nil))
	})
	x := h.Start("")
	h.Claim()
	res, err := http.DefaultTransport.RoundTrip(h.Request("GET", h.Path(x.ID, "/stream"), ""))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if raw, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("the stream ended cleanly after %s", raw)
	}
	select { // the line was written before the connection was reset
	case said := <-logged:
		if !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "lacks its record 2") {
			t.Errorf("the server logged %s", said)
		}
	default:
		t.Error("the server logged nothing")
	}
}

// lineWriter is a channel that receives the lines of a server's log.
type lineWriter chan string

func (w lineWriter) Write(line []byte) (int, error) {
	w <- string(line)
	return len(line), nil
}
