package face_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

var everyStream = []string{
	"/stream/consolidated", "/stream", "/stream?types=agent.started,agent.completed", "/stream?render=html", "/stream/consolidated?render=html", "/stream?types=agent.waiting,token&render=html",
}

// cursorsOf returns the cursor of each event by its position. Position 0, before the first event,
// is not among them.
func cursorsOf(t *testing.T, events []sseEvent) map[int64]string {
	t.Helper()
	given := map[int64]string{}
	for _, e := range events {
		given[posOf(t, e.ID)] = e.ID
	}
	return given
}

// TestCursorsAreTheSameOnEveryStream checks that the cursor at a position is the same on every
// stream, wherever the stream starts.
func TestCursorsAreTheSameOnEveryStream(t *testing.T) {
	h := open(t, pingAlways)
	r := talk(h)
	want := cursorsOf(t, h.Follow(h.Path(r.ID, "/stream/consolidated")).All())
	for _, path := range everyStream {
		for _, from := range []string{"", want[3], want[20], want[int64(len(want))-2]} {
			for _, e := range h.Follow(h.Path(r.ID, path), "Last-Event-ID", from).All() {
				if pos := posOf(t, e.ID); want[pos] != e.ID && pos > 0 {
					t.Errorf("%s after %q: at %d the cursor is %q, want %q", path, from, pos, e.ID, want[pos])
				}
			}
		}
	}
	for seq := range 10 {
		for _, e := range h.Follow(h.Path(r.ID, fmt.Sprint("/stream/consolidated?after_seq=", seq))).All() {
			if pos := posOf(t, e.ID); want[pos] != e.ID && pos > 0 {
				t.Errorf("after the seq %d at %d the cursor is %q, want %q", seq, pos, e.ID, want[pos])
			}
		}
	}
}

// TestCursorsOfAnotherRecordAreReset checks, at every position, a cursor with a wrong nonce and one
// without a nonce, as older versions sent it. Streams and pages begin with a reset, and a WebSocket
// reports the cursor as stale.
func TestCursorsOfAnotherRecordAreReset(t *testing.T) {
	longtest.Skip(t, "seconds")
	h := open(t)
	r := play(h)
	for pos, cursor := range cursorsOf(t, h.Follow(h.Path(r.ID, "/stream/consolidated")).All()) {
		c, err := perdure.ParseCursor(cursor)
		if err != nil || c.Nonce == 0 {
			t.Fatalf("%+v %v", c, err)
		}
		other, old := c, c
		other.Nonce ^= 1
		old.Nonce, old.Nonceless = 0, true
		for _, wrong := range []string{other.String(), old.String()} {
			for _, path := range everyStream {
				after := path + "?after=" + wrong
				if u, _ := url.Parse(path); u.RawQuery != "" {
					after = path + "&after=" + wrong
				}
				for _, s := range []*stream{h.Follow(h.Path(r.ID, path), "Last-Event-ID", wrong), h.Follow(h.Path(r.ID, after))} {
					if e := s.Must(); e.Event != "reset" || e.Fields["reason"] != "epoch" {
						t.Errorf("%s at %d begins with %s %s", path, pos, e.Event, e.Data)
					}
				}
			}
			var page struct{ Reset *struct{ Reason string } }
			h.Call("GET", h.Path(r.ID, "/events?after="+wrong), "").Want(200, &page)
			if page.Reset == nil || page.Reset.Reason != "epoch" {
				t.Errorf("a page at %d has the reset %v", pos, page.Reset)
			}
		}
		for given, stale := range map[perdure.Cursor]bool{c: false, other: true, old: true} {
			k := h.Socket(r.ID)
			k.Send("load_events", fmt.Sprintf(`{"cursor":%q}`, given))
			if m := k.Next(); m.Type != "events_loaded" || m.Data.Stale != stale {
				t.Errorf("a socket with the cursor %+v answers %+v", given, m)
			}
		}
	}
}

// TestDurableCursorsGoWithTheirOffsets checks that a Stream-Cursor of a durable stream is valid
// only together with the offset with which the server sent it. With any other offset, the response
// is 410.
func TestDurableCursorsGoWithTheirOffsets(t *testing.T) {
	h := open(t)
	x := h.Start("")
	given := map[string]string{}
	look := func() {
		t.Helper()
		head := h.Call("HEAD", durable(x.ID, ""), "").Want(200, nil).Header
		given[head.Get("Stream-Next-Offset")] = head.Get("Stream-Cursor")
	}
	look()
	r := h.Claim()
	look()
	for i := range 5 {
		r.Stream(0, int64(2*i), "token", "ab")
		look()
	}
	r.Say(assistantText("ababababab"))
	look()
	r.Complete()
	look()
	for offset := range given {
		for of, other := range given {
			want := 410
			if of == offset {
				want = 200
			}
			for _, live := range []string{"", "&live=long-poll", "&live=sse"} {
				got := h.Call("GET", durable(x.ID, "?offset="+offset+"&cursor="+other+live), "").Status
				if got == 204 && live == "&live=long-poll" { // the end of the log
					got = 200
				}
				if got != want {
					t.Errorf("the offset %s with the cursor %s of %s%s is answered %d", offset, other, of, live, got)
				}
			}
		}
	}
	if len(given) < 8 {
		t.Errorf("only %d offsets", len(given))
	}
}
