package httpapi_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/perdure/perdure"
)

var everyStream = []string{
	"/stream/consolidated", "/stream", "/stream?types=agent.started,agent.completed", "/stream?render=html", "/stream/consolidated?render=html", "/stream?types=agent.waiting,token&render=html",
}

// cursorsOf returns the cursors of a log by position, without the start.
func cursorsOf(t *testing.T, events []sse) map[int64]string {
	t.Helper()
	given := map[int64]string{}
	for _, e := range events {
		given[posOf(t, e.id)] = e.id
	}
	return given
}

// The cursor at a position is the same on every stream. It stays the same after the block that was
// open there is closed.
func TestCursorsAreTheSameOnEveryStream(t *testing.T) {
	h := open(t, pingAlways)
	r := talk(h)
	want := cursorsOf(t, h.follow(h.path(r.id, "/stream/consolidated")).all())
	for _, path := range everyStream {
		for _, from := range []string{"", want[3], want[20], want[int64(len(want))-2]} {
			for _, e := range h.follow(h.path(r.id, path), "Last-Event-ID", from).all() {
				if pos := posOf(t, e.id); want[pos] != e.id && pos > 0 {
					t.Errorf("%s after %q: at %d the cursor is %q, want %q", path, from, pos, e.id, want[pos])
				}
			}
		}
	}
	for seq := range 10 {
		for _, e := range h.follow(h.path(r.id, fmt.Sprint("/stream/consolidated?after_seq=", seq))).all() {
			if pos := posOf(t, e.id); want[pos] != e.id && pos > 0 {
				t.Errorf("after the seq %d at %d the cursor is %q, want %q", seq, pos, e.id, want[pos])
			}
		}
	}
}

// A cursor with the nonce of another record, or without a nonce as in old builds, leads to a reset.
// This holds on each stream, page and socket, at every position.
func TestCursorsOfAnotherRecordBeginAgain(t *testing.T) {
	h := open(t)
	r := play(h)
	for pos, cursor := range cursorsOf(t, h.follow(h.path(r.id, "/stream/consolidated")).all()) {
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
				for _, s := range []*stream{h.follow(h.path(r.id, path), "Last-Event-ID", wrong), h.follow(h.path(r.id, after))} {
					if e := s.must(); e.event != "reset" || e.fields["reason"] != "epoch" {
						t.Errorf("%s at %d begins with %s %s", path, pos, e.event, e.data)
					}
				}
			}
			var page struct{ Reset *struct{ Reason string } }
			h.call("GET", h.path(r.id, "/events?after="+wrong), "").want(200, &page)
			if page.Reset == nil || page.Reset.Reason != "epoch" {
				t.Errorf("a page at %d has the reset %v", pos, page.Reset)
			}
		}
		for given, stale := range map[perdure.Cursor]bool{c: false, other: true, old: true} {
			k := h.socket(r.id)
			k.send("load_events", fmt.Sprintf(`{"cursor":%q}`, given))
			if m := k.next(); m.Type != "events_loaded" || m.Data.Stale != stale {
				t.Errorf("a socket with the cursor %+v answers %+v", given, m)
			}
		}
	}
}

// The cursor of a durable stream belongs to its offset: an offset with the cursor of another record
// gets 410.
func TestDurableCursorsGoWithTheirOffsets(t *testing.T) {
	h := open(t)
	x := h.start("")
	given := map[string]string{}
	look := func() {
		t.Helper()
		head := h.call("HEAD", durable(x.ID, ""), "").want(200, nil).header
		given[head.Get("Stream-Next-Offset")] = head.Get("Stream-Cursor")
	}
	look()
	r := h.claim()
	look()
	for i := range 5 {
		r.stream(0, int64(2*i), "token", "ab")
		look()
	}
	r.say(assistantText("ababababab"))
	look()
	r.complete()
	look()
	for offset := range given {
		for of, other := range given {
			want := 410
			if of == offset {
				want = 200
			}
			for _, live := range []string{"", "&live=long-poll", "&live=sse"} {
				got := h.call("GET", durable(x.ID, "?offset="+offset+"&cursor="+other+live), "").status
				if got == 204 && live == "&live=long-poll" { // the end
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
