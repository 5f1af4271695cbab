package log_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	eventlog "github.com/perdure/perdure/internal/log"
)

// clientCopy is a client's copy of a log: the text of each block and the data of each event, by
// seq. The offset of a chunk shows how much of its text the client already has and skips.
type clientCopy map[int64]string

func (s clientCopy) take(t *testing.T, items ...eventlog.Item) {
	t.Helper()
	for _, i := range items {
		switch {
		case i.Event == eventlog.Snapshot:
			s[i.Seq] = member[string](t, i, "data")
		case i.Event == perdure.EventToken:
			offset := int(member[float64](t, i, "offset"))
			if offset > len(s[i.Seq]) {
				t.Fatalf("%s leaves a hole after %q", i.Data(), s[i.Seq])
			}
			text := member[string](t, i, "data")
			s[i.Seq] += text[min(len(s[i.Seq])-offset, len(text)):]
		case i.Seq > 0:
			s[i.Seq] = string(i.Data())
		}
	}
}

func (s clientCopy) String() string {
	var b strings.Builder
	for _, seq := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%d %s\n", seq, s[seq])
	}
	return b.String()
}

// grow writes a log of blocks that are open at the same time. It calls the function `cut` after
// each record.
func grow(b *memoryLog, cut func()) {
	event := func() { b.event(perdure.EventSignal, "{}"); cut() }
	chunk := func(seq int64, text string) int64 { defer cut(); return b.chunk(seq, text) }
	closed := func(seq int64) { b.closeBlock(seq, perdure.BlockDone); cut() }
	event()
	one := chunk(0, "on")
	two := chunk(0, "zw")
	event()
	chunk(one, "e")
	three := chunk(0, "trä")
	closed(two)
	chunk(three, "e")
	event()
	closed(one)
	closed(three)
}

// TestAReaderThatWasCutOffInsideABlockReceivesTheRest checks a reader that is disconnected after
// any record, and then asks for the events after its newest seq, as a stream or in pages. The
// reader gets the whole log, even if it is disconnected a second time after any item.
func TestAReaderThatWasCutOffInsideABlockReceivesTheRest(t *testing.T) {
	b := newMemoryLog()
	b.eventsAtOnce = 2
	type cut struct {
		pos, seq int64
	}
	var cuts []cut
	grow(b, func() { cuts = append(cuts, cut{b.head.LastPos, b.head.LastSeq}) })
	b.event(perdure.EventCompleted, "{}")
	whole := all(t, b.log(), eventlog.From{})
	want := clientCopy{}
	want.take(t, whole...)
	for _, c := range cuts {
		held := func() clientCopy {
			s := clientCopy{}
			for _, i := range whole {
				if i.Cursor.Pos <= c.pos {
					s.take(t, i)
				}
			}
			return s
		}
		check := func(how string, got clientCopy) {
			t.Helper()
			if got.String() != want.String() {
				t.Errorf("cut after %d, %s:\n%s\nwant\n%s", c.pos, how, got, want)
			}
		}
		rest := all(t, b.log(), eventlog.From{AfterSeq: &c.seq})
		for n := range rest {
			got := held()
			got.take(t, rest[:n]...)
			from := eventlog.From{AfterSeq: &c.seq}
			if n > 0 {
				from = eventlog.From{Cursor: rest[n-1].Cursor.String()}
			}
			got.take(t, all(t, b.log(), from)...)
			check(fmt.Sprintf("and after %d more", n), got)
		}
		for limit := 1; limit < 9; limit++ {
			got := held()
			for after, more := c.seq, true; more; {
				w := window(t, b, eventlog.Span{After: &after, Limit: limit})
				items := append(slices.Clone(w.Across), w.Items...)
				for n := range items { // each event of a page has a cursor to resume at
					again := held()
					maps.Copy(again, got)
					again.take(t, items[:n+1]...)
					again.take(t, all(t, b.log(), eventlog.From{Cursor: items[n].Cursor.String()})...)
					check(fmt.Sprintf("in pages of %d, and after %d", limit, n), again)
				}
				got.take(t, items...)
				after, more = w.Last, w.More
			}
			check(fmt.Sprintf("in pages of %d", limit), got)
		}
	}
}

// TestSnapshotsBeforeAWindowAreNoneOfItsEvents checks that the limit of a window does not count the
// snapshots in Window.Across, which are of blocks that began before the window.
func TestSnapshotsBeforeAWindowAreNoneOfItsEvents(t *testing.T) {
	b := newMemoryLog()
	b.event(perdure.EventCreated, "{}")
	block := b.chunk(0, "text")
	last := b.event(perdure.EventSignal, "{}")
	for after, first := range map[int64]int64{1: 2, 2: 3, 3: 0} {
		w := window(t, b, eventlog.Span{After: &after, Limit: 1})
		if w.First != first || w.Last != first || w.More != (first == 2) || w.Max != last {
			t.Errorf("after %d: %+v", after, w)
		}
		if given := len(w.Across) == 1 && w.Across[0].Seq == block; given != (after >= block) {
			t.Errorf("after %d: the block is given before: %v", after, given)
		}
	}
}
