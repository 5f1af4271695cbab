package sse_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
)

// TestFilteredStreamShowsEveryLoss checks that if any event is deleted from a filtered stream, the
// members prevSeq and prevShown of the next event show the loss. Chunks of blocks are excluded,
// because a client checks their offsets.
func TestFilteredStreamShowsEveryLoss(t *testing.T) {
	h := open(t)
	r := play(h)
	for _, path := range []string{"/stream", "/stream?types=entry.appended,token", "/stream/consolidated?types=task.completed,terminal"} {
		whole := h.Follow(h.Path(r.ID, path)).All()
		whole = whole[:len(whole)-1]
		check := func(events []sseEvent) (at int) {
			last := int64(0)
			for i, e := range events {
				shown, spared := e.Filtered()
				if shown != last || e.Seq() > last && e.Seq() != max(shown, spared)+1 {
					return i
				}
				last = max(last, e.Seq())
			}
			return -1
		}
		if at := check(whole); at >= 0 {
			t.Fatalf("%s: nothing is missing, and it seems so at %s", path, whole[at].Data)
		}
		for i, e := range whole[:len(whole)-1] {
			if i > 0 && e.Seq() <= whole[i-1].Seq() || whole[i+1].Seq() <= e.Seq() {
				continue // a chunk of a block: its offset is checked instead
			}
			if at := check(slices.Delete(slices.Clone(whole), i, i+1)); at != i {
				t.Errorf("%s: without %s it is noticed at %d, want %d", path, e.Data, at, i)
			}
		}
	}
}

// TestFilteredStreamContinuesUnchanged checks that a filtered stream that is resumed by cursor or
// by seq sends the same events, with the same prevSeq and prevShown, as an uninterrupted stream.
func TestFilteredStreamContinuesUnchanged(t *testing.T) {
	h := open(t)
	r := play(h)
	path := h.Path(r.ID, "/stream?types=entry.appended,agent.completed")
	whole := h.Follow(path).All()
	for i := range len(whole) - 2 {
		if got := h.Follow(path + "&after=" + whole[i].ID).All(); show(got) != show(whole[i+1:]) {
			t.Errorf("after event %d come\n%s\nwant\n%s", i, show(got), show(whole[i+1:]))
		}
		if got := h.Follow(path + "&after_seq=" + strconv.FormatInt(whole[i].Seq(), 10)).All(); show(got) != show(whole[i+1:]) {
			t.Errorf("after seq %d come\n%s\nwant\n%s", whole[i].Seq(), show(got), show(whole[i+1:]))
		}
	}
}

// TestRenderedFilteredStreamSaysTheSame checks a rendered, filtered stream that is resumed after
// any of its events: the later events have the same data as in an uninterrupted stream.
func TestRenderedFilteredStreamSaysTheSame(t *testing.T) {
	h := open(t)
	r := talk(h)
	path := h.Path(r.ID, "/stream?render=html")
	whole := map[int64]string{}
	events := h.Follow(path).All()
	for _, e := range events {
		if e.Event != "html" && e.Event != "end" {
			whole[e.Seq()] = e.Data
		}
	}
	for _, cut := range events[:len(events)-2] {
		for _, e := range h.Follow(path, "Last-Event-ID", cut.ID).All() {
			if want := whole[e.Seq()]; e.Event != "html" && e.Event != "end" && e.Data != want {
				t.Fatalf("after %s comes\n%s\nwant\n%s", cut.Data, e.Data, want)
			}
		}
	}
}

// TestRenderedStreamKeepsEventsOfASupersededText checks an event that occurs inside a list of a
// streamed text, and is delayed until the end of the list. The event is sent even if the text is
// superseded while the client is disconnected.
func TestRenderedStreamKeepsEventsOfASupersededText(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t, pingAlways)
	x := h.Start("")
	r := h.Claim()
	path := h.Path(x.ID, "/stream?render=html")
	lease := r.Schedule("llm-request", "one")
	r.Append(frame{Lease: &lease, Type: "token", Text: "- one\n- two"})
	s := h.Follow(path)
	for e := s.Must(); e.Event != "html"; e = s.Must() {
	}
	r.Stream(7, 0, "thinking", "meanwhile")
	waited := h.lastPos(x.ID)
	at := s.Must()
	for ; posOf(t, at.ID) < waited; at = s.Must() {
		if at.Event == "thinking" {
			t.Fatal("the event came in the middle of the list")
		}
	}
	r.Fail(lease)
	r.Complete()
	rest := h.Follow(path, "Last-Event-ID", at.ID).All()
	if !slices.ContainsFunc(rest, func(e sseEvent) bool { return e.Event == "thinking" && e.Fields["data"] == "meanwhile" }) {
		t.Errorf("after the cut come\n%s", show(rest))
	}
}

// TestCursorsThatDoNotFitOnEveryStream checks that a cursor past the end of the log, or with
// another epoch, gets a reset on plain, filtered and rendered streams.
func TestCursorsThatDoNotFitOnEveryStream(t *testing.T) {
	h := open(t)
	x := h.Start("")
	r := h.Claim()
	r.Stream(0, 0, "token", "an open text")
	first := h.Follow(h.Path(x.ID, "/stream/consolidated")).Must()
	c, err := perdure.ParseCursor(first.ID)
	if err != nil {
		t.Fatal(err)
	}
	ahead := perdure.Cursor{Epoch: c.Epoch, Pos: 1 << 62}.String()
	foreign := perdure.Cursor{Epoch: c.Epoch + 1, Pos: 1 << 62}.String()
	for _, path := range []string{
		"/stream/consolidated", "/stream", "/stream?types=agent.started", "/stream?render=html", "/stream/consolidated?render=html", "/stream?types=agent.waiting,token&render=html",
	} {
		for cursor, reason := range map[string]string{ahead: "ahead", foreign: "epoch"} {
			e := h.Follow(h.Path(x.ID, path), "Last-Event-ID", cursor).Must()
			if e.Event != "reset" || e.Fields["reason"] != reason {
				t.Errorf("%s with a cursor that is %s begins with %s %s", path, reason, e.Event, e.Data)
			}
		}
	}
}

// lastPos returns the position of the end of the log.
func (h *testServer) lastPos(id uuid.UUID) int64 {
	h.T.Helper()
	head, err := h.Engine.Read().LogHead(h.T.Context(), id)
	if err != nil {
		h.T.Fatal(err)
	}
	return head.LastPos
}

// positionRecorder records the lowest position from which a store's logs are read.
type positionRecorder struct {
	store.LogReader
	from *atomic.Int64
}

func (r positionRecorder) Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	for was := r.from.Load(); after < was && !r.from.CompareAndSwap(was, after); was = r.from.Load() {
	}
	return r.LogReader.Log(ctx, execution, after, limit)
}

// TestFilteredStreamContinuesWithoutReadingBack checks that a resumed filtered stream reads no
// record of the log before its start position.
func TestFilteredStreamContinuesWithoutReadingBack(t *testing.T) {
	var from atomic.Int64
	h := open(t, func(c *face.Config) {
		c.Log = eventlog.New(positionRecorder{c.Engine.Read(), &from}, 1, c.Engine.Hints)
	})
	r := play(h)
	whole := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
	at := whole[len(whole)-4].ID
	from.Store(math.MaxInt64)
	rest := h.Follow(h.Path(r.ID, "/stream?types=agent.completed&after="+at)).All()
	if len(rest) != 2 {
		t.Fatalf("%d events came, want the run's end and the log's", len(rest))
	}
	if pos := posOf(t, at); from.Load() < pos {
		t.Errorf("from %d on, the log was read after %d", pos, from.Load())
	}
}

// TestStreamOfSomeTypes checks that a filtered stream contains only the events of the requested
// types and the end event. A client sees that no event is lost, because prevSeq is the seq of the
// last omitted event.
func TestStreamOfSomeTypes(t *testing.T) {
	h := open(t)
	r := play(h)
	all := h.Follow(h.Path(r.ID, "/stream/consolidated")).All()
	path := h.Path(r.ID, "/stream/consolidated") + "?types=entry.appended,%20agent.completed"
	some := h.Follow(path).All()
	var want, got []string
	for _, e := range all {
		if e.Event == "entry.appended" || e.Event == "agent.completed" || e.Event == "end" {
			want = append(want, e.ID+" "+e.Event)
		}
	}
	var last int64
	for _, e := range some {
		got = append(got, e.ID+" "+e.Event)
		if e.Event == "end" {
			continue
		}
		if spared := int64(e.Fields["prevSeq"].(float64)); e.Seq() != max(last, spared)+1 {
			t.Errorf("after seq %d came %s", last, e.Data)
		}
		last = e.Seq()
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") || len(got) < 4 {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if rest := h.Follow(path, "Last-Event-ID", some[0].ID).All(); show(rest) != show(some[1:]) {
		t.Errorf("resumed:\n%s\nwant\n%s", show(rest), show(some[1:]))
	}
	for _, e := range h.Follow(h.Path(r.ID, "/stream") + "?types=terminal,token").All() {
		if e.Event == "terminal" {
			t.Error("the agent's stream shows what it leaves out")
		}
	}
	h.Call("GET", h.Path(r.ID, "/stream")+"?types=tokens", "").Problem(400, "invalid_argument", "types")
}
