package httpapi_test

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/httpapi"
	"github.com/perdure/perdure/internal/store"
)

// filtered returns the numbers of an event that a client of a filtered stream checks. shown must
// equal the newest seq that the client has, and spared is the newest omitted seq.
func (e sse) filtered() (shown, spared int64) {
	s, _ := e.fields["prevShown"].(float64)
	p, _ := e.fields["prevSeq"].(float64)
	return int64(s), int64(p)
}

// A client of a filtered stream detects every event that it has missed, also if omitted events
// follow directly.
func TestFilteredStreamShowsEveryLoss(t *testing.T) {
	h := open(t)
	r := play(h)
	for _, path := range []string{"/stream", "/stream?types=entry.appended,token", "/stream/consolidated?types=task.completed,terminal"} {
		whole := h.follow(h.path(r.id, path)).all()
		whole = whole[:len(whole)-1]
		check := func(events []sse) (at int) {
			last := int64(0)
			for i, e := range events {
				shown, spared := e.filtered()
				if shown != last || e.seq() > last && e.seq() != max(shown, spared)+1 {
					return i
				}
				last = max(last, e.seq())
			}
			return -1
		}
		if at := check(whole); at >= 0 {
			t.Fatalf("%s: nothing is missing, and it seems so at %s", path, whole[at].data)
		}
		for i, e := range whole[:len(whole)-1] {
			if i > 0 && e.seq() <= whole[i-1].seq() || whole[i+1].seq() <= e.seq() {
				continue // a chunk of a block: its offset is checked instead
			}
			if at := check(slices.Delete(slices.Clone(whole), i, i+1)); at != i {
				t.Errorf("%s: without %s it is noticed at %d, want %d", path, e.data, at, i)
			}
		}
	}
}

// A resumed filtered stream has the same numbers as an uninterrupted one, by cursor or by seq.
func TestFilteredStreamGoesOnAsItWouldHave(t *testing.T) {
	h := open(t)
	r := play(h)
	path := h.path(r.id, "/stream?types=entry.appended,agent.completed")
	whole := h.follow(path).all()
	for i := range len(whole) - 2 {
		if got := h.follow(path + "&after=" + whole[i].id).all(); show(got) != show(whole[i+1:]) {
			t.Errorf("after event %d come\n%s\nwant\n%s", i, show(got), show(whole[i+1:]))
		}
		if got := h.follow(path + "&after_seq=" + strconv.FormatInt(whole[i].seq(), 10)).all(); show(got) != show(whole[i+1:]) {
			t.Errorf("after seq %d come\n%s\nwant\n%s", whole[i].seq(), show(got), show(whole[i+1:]))
		}
	}
}

// A rendered stream has the same numbers as a filtered one, also after a resume.
func TestRenderedFilteredStreamSaysTheSame(t *testing.T) {
	h := open(t)
	r := talk(h)
	path := h.path(r.id, "/stream?render=html")
	whole := map[int64]string{}
	events := h.follow(path).all()
	for _, e := range events {
		if e.event != "html" && e.event != "end" {
			whole[e.seq()] = e.data
		}
	}
	for _, cut := range events[:len(events)-2] {
		for _, e := range h.follow(path, "Last-Event-ID", cut.id).all() {
			if want := whole[e.seq()]; e.event != "html" && e.event != "end" && e.data != want {
				t.Fatalf("after %s comes\n%s\nwant\n%s", cut.data, e.data, want)
			}
		}
	}
}

// Events that wait for the end of a list are not lost if the text is superseded while the client is
// disconnected.
func TestRenderedStreamKeepsWhatWaitedInASupersededText(t *testing.T) {
	h := open(t, pingAlways)
	x := h.start("")
	r := h.claim()
	path := h.path(x.ID, "/stream?render=html")
	lease := r.schedule("llm-request", "one")
	r.append(frame{Lease: &lease, Type: "token", Text: "- one\n- two"})
	s := h.follow(path)
	for e := s.must(); e.event != "html"; e = s.must() {
	}
	r.stream(7, 0, "thinking", "meanwhile")
	waited := h.lastPos(x.ID)
	at := s.must()
	for ; posOf(t, at.id) < waited; at = s.must() {
		if at.event == "thinking" {
			t.Fatal("the event came in the middle of the list")
		}
	}
	r.fail(lease)
	r.complete()
	rest := h.follow(path, "Last-Event-ID", at.id).all()
	if !slices.ContainsFunc(rest, func(e sse) bool { return e.event == "thinking" && e.fields["data"] == "meanwhile" }) {
		t.Errorf("after the cut come\n%s", show(rest))
	}
}

// A cursor that does not fit leads to a reset on rendered and filtered streams, too, however far
// ahead it is.
func TestCursorsThatDoNotFitOnEveryStream(t *testing.T) {
	h := open(t)
	x := h.start("")
	r := h.claim()
	r.stream(0, 0, "token", "an open text")
	first := h.follow(h.path(x.ID, "/stream/consolidated")).must()
	c, err := perdure.ParseCursor(first.id)
	if err != nil {
		t.Fatal(err)
	}
	ahead := perdure.Cursor{Epoch: c.Epoch, Pos: 1 << 62}.String()
	foreign := perdure.Cursor{Epoch: c.Epoch + 1, Pos: 1 << 62}.String()
	for _, path := range []string{
		"/stream/consolidated", "/stream", "/stream?types=agent.started", "/stream?render=html", "/stream/consolidated?render=html", "/stream?types=agent.waiting,token&render=html",
	} {
		for cursor, reason := range map[string]string{ahead: "ahead", foreign: "epoch"} {
			e := h.follow(h.path(x.ID, path), "Last-Event-ID", cursor).must()
			if e.event != "reset" || e.fields["reason"] != reason {
				t.Errorf("%s with a cursor that is %s begins with %s %s", path, reason, e.event, e.data)
			}
		}
	}
}

// pingAlways sets the interval of pings so low that one is sent after every omitted event.
func pingAlways(c *httpapi.Config) { c.PingEvery = time.Second }

func posOf(t *testing.T, cursor string) int64 {
	t.Helper()
	c, err := perdure.ParseCursor(cursor)
	if err != nil {
		t.Fatal(err)
	}
	return c.Pos
}

// lastPos returns the position of the end of the log.
func (h *house) lastPos(id uuid.UUID) int64 {
	h.t.Helper()
	head, err := h.engine.Read().LogHead(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return head.LastPos
}

// reading records the lowest position from which a store's logs are read.
type reading struct {
	store.Reader
	from *atomic.Int64
}

func (r reading) Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, store.Head, error) {
	for was := r.from.Load(); after < was && !r.from.CompareAndSwap(was, after); was = r.from.Load() {
	}
	return r.Reader.Log(ctx, execution, after, limit)
}

// A filtered stream that is resumed reads nothing of the log before its position, however rare its
// events are.
func TestFilteredStreamGoesOnWithoutReadingBack(t *testing.T) {
	var from atomic.Int64
	h := open(t, func(c *httpapi.Config) {
		c.Log = eventlog.New(reading{c.Engine.Read(), &from}, 1, c.Engine.Hints)
	})
	r := play(h)
	whole := h.follow(h.path(r.id, "/stream/consolidated")).all()
	at := whole[len(whole)-4].id
	from.Store(math.MaxInt64)
	rest := h.follow(h.path(r.id, "/stream?types=agent.completed&after="+at)).all()
	if len(rest) != 2 {
		t.Fatalf("%d events came, want the run's end and the log's", len(rest))
	}
	if pos := posOf(t, at); from.Load() < pos {
		t.Errorf("from %d on, the log was read after %d", pos, from.Load())
	}
}
