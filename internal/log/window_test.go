package log_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

func window(t *testing.T, b *memoryLog, s eventlog.Span) eventlog.Window {
	t.Helper()
	w, err := b.log().Window(t.Context(), execution, s)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// TestWindowsJoinedAreTheLog checks that all windows together, forward or backward, contain each
// event once and in order. The test uses each possible limit, and a store that returns 1, 2 or 100
// events in one read.
func TestWindowsJoinedAreTheLog(t *testing.T) {
	for _, atOnce := range []int{1, 2, 100} {
		b := newMemoryLog()
		b.chat()
		b.eventsAtOnce = atOnce
		for limit := 1; limit <= int(b.head.LastSeq)+1; limit++ {
			var forward []eventlog.Item
			for after := int64(0); ; {
				w := window(t, b, eventlog.Span{After: &after, Limit: limit})
				forward = append(forward, w.Items...)
				if len(w.Items) > limit || w.Reset != nil || w.Max != b.head.LastSeq {
					t.Fatalf("limit %d after %d: %+v", limit, after, w)
				}
				if after = w.Last; !w.More {
					break
				}
			}
			w := window(t, b, eventlog.Span{Limit: limit})
			back := w.Items
			for w.More {
				first := w.First
				w = window(t, b, eventlog.Span{Before: &first, Limit: limit})
				back = append(w.Items, back...)
			}
			if lines(back) != lines(forward) {
				t.Errorf("limit %d: backwards\n%s\nforwards\n%s", limit, lines(back), lines(forward))
			}
			for i, item := range forward {
				if item.Seq != int64(i+1) {
					t.Fatalf("limit %d: item %d is event %d", limit, i, item.Seq)
				}
			}
			if len(forward) != int(b.head.LastSeq) {
				t.Errorf("limit %d: %d events of %d", limit, len(forward), b.head.LastSeq)
			}
		}
	}
}

// TestWindowEndsAtItsPosition checks that an open block in a window has all its text up to the
// window's position. A reader that continues at that position receives only the later text.
func TestWindowEndsAtItsPosition(t *testing.T) {
	b := newMemoryLog()
	b.event(perdure.EventCreated, "{}")
	block := b.chunk(0, "Hel")
	b.chunk(block, "lo")
	w := window(t, b, eventlog.Span{Limit: 10})
	if got := member[string](t, w.Items[1], "data"); got != "Hello" || w.Items[1].Event != eventlog.Snapshot {
		t.Fatalf("the open block is %s", w.Items[1].Data())
	}
	b.chunk(block, " world")
	b.event(perdure.EventCompleted, "{}")
	rest := all(t, b.log(), eventlog.From{Cursor: w.At.String()})
	if text := lines(rest); !strings.Contains(text, `"offset":5`) || strings.Contains(text, "Hel") {
		t.Errorf("after the window comes\n%s", text)
	}
	for _, item := range w.Items {
		again := all(t, b.log(), eventlog.From{Cursor: item.Cursor.String()})
		if !strings.Contains(lines(again), "world") || again[len(again)-1].Event != eventlog.End {
			t.Errorf("from event %d on comes\n%s", item.Seq, lines(again))
		}
	}
}

// TestWindowOfAClientThatIsAhead checks that a client with a seq after the end of the log gets the
// newest events and a reset. A client with the newest seq gets neither.
func TestWindowOfAClientThatIsAhead(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	ahead, last := b.head.LastSeq+5, b.head.LastSeq
	w := window(t, b, eventlog.Span{After: &ahead, Limit: 2})
	if w.Reset == nil || w.Last != last || w.First != last-1 || !w.More {
		t.Errorf("got %+v", w)
	}
	if w := window(t, b, eventlog.Span{After: &last, Limit: 2}); w.Reset != nil || w.More || len(w.Items) != 0 {
		t.Errorf("a client that has all got %+v", w)
	}
}

func TestInvalidWindowsAreRefused(t *testing.T) {
	b := newMemoryLog()
	one, minus := int64(1), int64(-1)
	for _, s := range []eventlog.Span{
		{}, {Limit: -1}, {Limit: 1, After: &one, Before: &one}, {Limit: 1, After: &minus}, {Limit: 1, Before: &minus},
	} {
		if _, err := b.log().Window(t.Context(), execution, s); !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestPrunedEventsResetTheClient checks that a client that asks for events after a seq gets a reset
// if the next event was pruned.
func TestPrunedEventsResetTheClient(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	b.mu.Lock()
	b.records = b.records[len(b.records)-1:]
	b.head.FirstPos = b.records[0].Pos
	b.mu.Unlock()
	last := b.head.LastSeq
	for after := int64(1); after < last-1; after++ {
		if w := window(t, b, eventlog.Span{After: &after, Limit: 100}); w.Reset == nil || w.Last != last || w.More {
			t.Errorf("a page after %d: %+v", after, w)
		}
		if items := all(t, b.log(), eventlog.From{AfterSeq: &after}); items[0].Event != eventlog.Reset || items[1].Seq != last {
			t.Errorf("after seq %d comes\n%s", after, lines(items))
		}
	}
	kept := last - 1
	if w := window(t, b, eventlog.Span{After: &kept, Limit: 100}); w.Reset != nil || w.First != last {
		t.Errorf("a page after %d: %+v", kept, w)
	}
}

// TestWindowsAreBoundedInBytes checks that a window has at most 1 MiB of data, although the limit
// allows more events. All windows together contain all events.
func TestWindowsAreBoundedInBytes(t *testing.T) {
	b := newMemoryLog()
	b.eventsAtOnce = 1000
	for range 20 {
		e := perdure.Entry{ID: uuid.New(), Content: json.RawMessage(`"` + strings.Repeat("x", 200<<10) + `"`)}
		b.entries[e.ID] = &e
		b.event(perdure.EventEntry, fmt.Sprintf(`{"entryId":%q}`, e.ID))
	}
	check := func(w eventlog.Window) []int64 {
		t.Helper()
		var seqs []int64
		size := 0
		for _, i := range w.Items {
			size += len(i.Data())
			seqs = append(seqs, i.Seq)
		}
		if n := len(seqs); n == 0 || size > 1<<20 || w.First != seqs[0] || w.Last != seqs[n-1] {
			t.Fatalf("%d events in %d bytes, from %d to %d: %v", n, size, w.First, w.Last, seqs)
		}
		return seqs
	}
	var forward, back []int64
	for after, more := int64(0), true; more; after = forward[len(forward)-1] {
		w := window(t, b, eventlog.Span{After: &after, Limit: 1000})
		forward, more = append(forward, check(w)...), w.More
	}
	for before, more := int64(21), true; more; before = back[0] {
		w := window(t, b, eventlog.Span{Before: &before, Limit: 1000})
		back, more = append(check(w), back...), w.More
	}
	if len(forward) != 20 || fmt.Sprint(forward) != fmt.Sprint(back) {
		t.Errorf("forward %v, backward %v", forward, back)
	}
}
