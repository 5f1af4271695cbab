package log_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	eventlog "github.com/perdure/perdure/internal/log"
)

// restore simulates that the store was restored from a backup that ended at the position `pos`, and
// that as many new records as were lost were then added. The new records have other nonces.
func (b *memoryLog) restore(pos int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.history++
	b.records = slices.Clone(b.records)
	for i := range b.records {
		if b.records[i].Pos > pos {
			b.records[i].Nonce = b.nonceOf(b.records[i].Pos)
		}
	}
	b.head.Nonce = b.records[len(b.records)-1].Nonce
}

// given returns all cursors that readers of the log receive, by position: from streams of the whole
// log, from streams and windows after each seq, and from CursorAt.
func given(t *testing.T, b *memoryLog) map[int64][]string {
	t.Helper()
	l, cursors := b.log(), map[int64][]string{}
	add := func(c perdure.Cursor) {
		if s := c.String(); !slices.Contains(cursors[c.Pos], s) {
			cursors[c.Pos] = append(cursors[c.Pos], s)
		}
	}
	for _, i := range all(t, l, eventlog.From{}) {
		add(i.Cursor)
	}
	for seq := range b.head.LastSeq + 1 {
		for _, i := range all(t, l, eventlog.From{AfterSeq: &seq}) {
			add(i.Cursor)
		}
		w, err := l.Window(t.Context(), execution, eventlog.Span{After: &seq, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		add(w.At)
		for _, i := range w.Items {
			add(i.Cursor)
		}
	}
	for pos := range b.head.LastPos + 1 {
		c, err := l.CursorAt(t.Context(), execution, pos)
		if err != nil {
			t.Fatal(err)
		}
		add(c)
	}
	return cursors
}

// TestEveryWayToAPositionGivesTheSameCursor checks that streams, windows and CursorAt return the
// same cursor for a position.
func TestEveryWayToAPositionGivesTheSameCursor(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	cursors := given(t, b)
	if int64(len(cursors)) != b.head.LastPos+1 {
		t.Errorf("cursors of %d positions of %d", len(cursors), b.head.LastPos+1)
	}
	for pos, same := range cursors {
		if len(same) != 1 || same[0] != b.cursor(pos) {
			t.Errorf("at %d there are the cursors %q, want %q", pos, same, b.cursor(pos))
		}
	}
}

// answer requests a page with a cursor, and returns the reason of the reset that the page contains;
// "" if it contains none. It checks that Tail and Position treat the cursor in the same way.
func answer(t *testing.T, l *eventlog.Log, cursor string) string {
	t.Helper()
	reason := ""
	p, err := l.Page(t.Context(), execution, cursor, 100)
	if err != nil {
		t.Fatal(err)
	}
	if p.Reset != nil {
		reason = p.Reset.Reason
	}
	items := all(t, l, eventlog.From{Cursor: cursor})
	if first := items[0]; reason == "" && first.Event == eventlog.Reset || reason != "" && first.Event != eventlog.Reset {
		t.Errorf("a page is answered with the reset %q, a stream begins with %s %s", reason, first.Event, first.Data())
	}
	c, err := perdure.ParseCursor(cursor)
	if err != nil {
		t.Fatal(err)
	}
	pos, err := l.Position(t.Context(), execution, eventlog.From{Cursor: cursor})
	if err != nil {
		t.Fatal(err)
	}
	if want := c.Pos; reason == "" && pos != want || reason != "" && pos != 0 {
		t.Errorf("with the reset %q the position is %d", reason, pos)
	}
	return reason
}

// TestARestoredStoreIsNoticedAtEveryPosition checks a log that was restored to any position, and
// then got as many new records as were lost. Cursors after that position get a reset; earlier
// cursors stay valid.
func TestARestoredStoreIsNoticedAtEveryPosition(t *testing.T) {
	first := newMemoryLog()
	first.chat()
	for back := range first.head.LastPos {
		b := newMemoryLog()
		b.chat()
		cursors := given(t, b)
		b.restore(back)
		for pos, c := range cursors {
			want := ""
			if pos > back {
				want = eventlog.ResetEpoch
			}
			if got := answer(t, b.log(), c[0]); got != want {
				t.Errorf("put back to %d, the cursor at %d is answered with %q, want %q", back, pos, got, want)
			}
		}
		if ended, err := b.log().AtEnd(t.Context(), execution, eventlog.From{Cursor: cursors[b.head.LastPos][0]}); ended || err != nil {
			t.Errorf("the end of another history passes for the end: %v, %v", ended, err)
		}
	}
}

// TestACursorWithoutANonceResets checks that a cursor without a nonce, as older versions sent it,
// gets a reset at every position.
func TestACursorWithoutANonceResets(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	for pos := range b.head.LastPos + 1 {
		c, err := perdure.ParseCursor(b.cursor(pos))
		if err != nil {
			t.Fatal(err)
		}
		c.Nonce, c.Nonceless = 0, true
		if got := answer(t, b.log(), c.String()); got != eventlog.ResetEpoch {
			t.Errorf("the old cursor at %d is answered with %q", pos, got)
		}
	}
}

// TestACursorOfAnOldRecordIsValid checks that cursors of records that were stored without a nonce
// are valid. A cursor with a nonce gets a reset at such a record.
func TestACursorOfAnOldRecordIsValid(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	for i := range b.records[:7] {
		b.records[i].Nonce = 0
	}
	for pos, c := range given(t, b) {
		if got := answer(t, b.log(), c[0]); got != "" {
			t.Errorf("the cursor at %d is answered with %q", pos, got)
		}
	}
	forged := perdure.Cursor{Epoch: perdure.EpochOf(b.head.Epoch, storeEpoch), Pos: 3, Nonce: 5}
	if got := answer(t, b.log(), forged.String()); got != eventlog.ResetEpoch {
		t.Errorf("another nonce there is answered with %q", got)
	}
}

// TestOpeningALogReadsOneNonceAtMost checks that a stream from the start or from the head of a log
// reads no nonce. A stream from a position between them reads one.
func TestOpeningALogReadsOneNonceAtMost(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	for pos, want := range map[int64]int{0: 0, 4: 1, b.head.LastPos: 0} {
		cursor, l := b.cursor(pos), b.log()
		if pos == 0 {
			cursor = ""
		}
		b.nonceReads = 0
		all(t, l, eventlog.From{Cursor: cursor})
		if b.nonceReads != want {
			t.Errorf("a stream from %d read %d nonces, want %d", pos, b.nonceReads, want)
		}
	}
}

// TestLiveReadersOfARestoredStoreAreReset checks that after a restore, a live reader gets one reset
// and then the whole log. There are three cases: the log is now shorter, it has the same length, or
// it has grown while the store was unavailable.
func TestLiveReadersOfARestoredStoreAreReset(t *testing.T) {
	for name, c := range map[string]struct {
		change func(b *memoryLog)
		reason string
	}{
		"shorter": {func(b *memoryLog) {
			b.mu.Lock()
			b.records = b.records[:2]
			b.head.LastSeq, b.head.LastPos, b.head.Nonce = 2, 2, b.records[1].Nonce
			b.mu.Unlock()
		}, eventlog.ResetAhead},
		"as long": {func(b *memoryLog) { b.restore(2) }, eventlog.ResetEpoch},
		"longer, after an outage": {func(b *memoryLog) {
			b.fail(errors.New("away"))
			time.Sleep(1500 * time.Millisecond)
			b.restore(2)
			b.silent = true
			b.event(perdure.EventSignal, "{}")
			b.event(perdure.EventSignal, "{}")
			b.fail(nil)
		}, eventlog.ResetEpoch},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newMemoryLog()
				for range 4 {
					b.event(perdure.EventCheckpoint, "{}")
				}
				done := live(t.Context(), b.log(), eventlog.From{})
				synctest.Wait()
				c.change(b)
				time.Sleep(3 * time.Second)
				b.event(perdure.EventCompleted, "{}")
				items := <-done
				resets := 0
				for i, item := range items {
					if item.Event != eventlog.Reset {
						continue
					}
					resets++
					if i != 4 || !strings.Contains(string(item.Data()), `"`+c.reason+`"`) {
						t.Errorf("item %d is %s", i, item.Data())
					}
				}
				whole := all(t, b.log(), eventlog.From{})
				if resets != 1 || lines(items[5:]) != lines(whole) {
					t.Errorf("%d resets, and then came\n%s", resets, lines(items[min(5, len(items)):]))
				}
			})
		})
	}
}
