package log_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/store"
)

func TestCursorThatDoesNotFitIsAnsweredByOneReset(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	whole := lines(all(t, b.log(), eventlog.From{}))
	other := perdure.Cursor{Epoch: 5, Pos: 3}.String()
	big := int64(1000)
	for name, c := range map[string]struct {
		from   eventlog.From
		reason string
	}{
		"ahead":     {eventlog.From{Cursor: b.cursor(1000)}, "ahead"},
		"epoch":     {eventlog.From{Cursor: other}, "epoch"},
		"seq ahead": {eventlog.From{AfterSeq: &big}, "ahead"},
	} {
		t.Run(name, func(t *testing.T) {
			items := all(t, b.log(), c.from)
			want := fmt.Sprintf(`{"reason":%q,"firstAvailable":1,"lastSeq":%d}`, c.reason, b.head.LastSeq)
			if items[0].Event != eventlog.Reset || string(items[0].Data()) != want {
				t.Fatalf("first came %s %s", items[0].Event, items[0].Data())
			}
			if lines(items[1:]) != whole {
				t.Error("the log did not follow")
			}
		})
	}
}

// TestTruncatedLogResets checks that a reader of a pruned log gets a reset if the record after its
// position was pruned. A reader directly before the first remaining record gets none.
func TestTruncatedLogResets(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	b.records = b.records[5:]
	b.head.FirstPos = b.records[0].Pos
	want := fmt.Sprintf(`{"reason":"truncated","firstAvailable":%d,"lastSeq":%d}`, b.records[0].Seq, b.head.LastSeq)
	zero, two := int64(0), int64(2)
	for name, from := range map[string]eventlog.From{
		"start": {}, "cursor": {Cursor: b.cursor(2)}, "before the first": {Cursor: b.cursor(0)}, "seq 0": {AfterSeq: &zero}, "seq 2": {AfterSeq: &two},
	} {
		items := all(t, b.log(), from)
		if items[0].Event != eventlog.Reset || string(items[0].Data()) != want || items[0].Cursor.Pos != 5 || items[1].Cursor.Pos != 6 {
			t.Errorf("%s: came %s", name, lines(items[:2]))
		}
		if from.AfterSeq != nil {
			w, err := b.log().Window(t.Context(), execution, eventlog.Span{After: from.AfterSeq, Limit: 10})
			if err != nil || w.Reset == nil || w.Reset.Reason != eventlog.ResetTruncated || w.Reset.FirstAvailable != b.records[0].Seq {
				t.Errorf("%s: the window says %+v %v", name, w.Reset, err)
			}
			continue
		}
		p, err := b.log().Page(t.Context(), execution, from.Cursor, 10)
		if err != nil || p.Reset == nil || p.Reset.Reason != eventlog.ResetTruncated || p.Items[0].Cursor.Pos != 6 {
			t.Errorf("%s: the page says %+v %v", name, p.Reset, err)
		}
	}
	if items := all(t, b.log(), eventlog.From{Cursor: b.cursor(5)}); items[0].Event == eventlog.Reset {
		t.Errorf("a reader that lacks nothing of what is left is given %s", items[0].Data())
	}
}

func TestGapInTheLogIsAnErrorAndNeverSkipped(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	b.records = slices.Delete(b.records, 4, 5)
	for _, from := range []eventlog.From{{}, {Cursor: b.cursor(4)}} {
		var last error
		for item, err := range b.log().Tail(t.Context(), execution, from) {
			last = err
			if err == nil && item.Cursor.Pos > 4 {
				t.Fatalf("pos %d was shown past the gap", item.Cursor.Pos)
			}
		}
		if !perdure.IsCode(last, perdure.Internal) {
			t.Errorf("the tail ended with %v", last)
		}
	}
	b.records = b.records[:4]
	if _, err := b.log().Page(t.Context(), execution, b.cursor(4), 10); !perdure.IsCode(err, perdure.Internal) {
		t.Errorf("a page of a log that lacks its end: %v", err)
	}
}

func TestRestoredLogResetsItsLiveReaders(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		b.event(perdure.EventStarted, "{}")
		done := live(t.Context(), b.log(), eventlog.From{})
		synctest.Wait()
		b.mu.Lock()
		b.records, b.head = b.records[:1], store.Head{Epoch: 100, LastSeq: 1, LastPos: 1, Nonce: b.records[0].Nonce}
		b.mu.Unlock()
		b.event(perdure.EventCompleted, "{}")
		items := <-done
		var names []string
		for _, i := range items {
			names = append(names, string(i.Event))
		}
		want := "agent.created agent.started reset agent.created agent.completed end"
		if got := strings.Join(names, " "); got != want {
			t.Errorf("came %s", got)
		}
	})
}

// TestEntryThatIsMissingIsDamage checks that if an event refers to a missing entry, streams, pages
// and windows return the error internal, and the stream sends no event.
func TestEntryThatIsMissingIsDamage(t *testing.T) {
	b := newMemoryLog()
	b.event(perdure.EventCreated, `{}`)
	b.event(perdure.EventEntry, `{"entryId":"018f0000-0000-7000-8000-0000000000ff"}`)
	b.event(perdure.EventCompleted, `{}`)
	var last error
	for item, err := range b.log().Tail(t.Context(), execution, eventlog.From{}) {
		if last = err; err == nil && item.Event != "" {
			t.Errorf("was given %s", item.Event)
		}
	}
	_, page := b.log().Page(t.Context(), execution, "", 10)
	_, window := b.log().Window(t.Context(), execution, eventlog.Span{Limit: 10})
	for _, err := range []error{last, page, window} {
		if !perdure.IsCode(err, perdure.Internal) {
			t.Errorf("the reader is told %v", err)
		}
	}
}
