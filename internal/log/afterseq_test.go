package log_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	eventlog "github.com/perdure/perdure/internal/log"
)

func TestAfterSeqGivesBlocksWhole(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	texts := map[int64]string{3: "Hello wörld", 4: "one two", 6: ""}
	closedAt := map[int64]int64{}
	var whole []eventlog.Item
	for _, i := range all(t, b.log(), eventlog.From{}) {
		whole = append(whole, i)
		if i.Event == perdure.EventBlockClosed {
			closedAt[member[int64](t, i, "blockSeq")] = i.Seq
		}
	}
	for n := int64(1); n <= b.head.LastSeq; n++ {
		items := all(t, b.log(), eventlog.From{AfterSeq: &n})
		got := map[int64]string{}
		for len(items) > 0 && items[0].Event == eventlog.Snapshot {
			got[items[0].Seq] = member[string](t, items[0], "data")
			items = items[1:]
		}
		for seq, text := range texts {
			held, ok := got[seq]
			if want := seq <= n && closedAt[seq] > n; ok != want {
				t.Errorf("after %d: snapshot of block %d given: %v", n, seq, ok)
			} else if ok && held != text {
				t.Errorf("after %d: block %d is %q", n, seq, held)
			}
		}
		var after []eventlog.Item
		for _, i := range whole {
			if i.Seq > n || i.Event == eventlog.End {
				after = append(after, i)
			}
		}
		if lines(items) != lines(after) {
			t.Errorf("after %d came\n%s\nwant\n%s", n, lines(items), lines(after))
		}
	}
}

func TestAfterSeqContinuesInOpenBlocks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		one := b.chunk(0, "ab")
		two := b.chunk(0, "xy")
		b.event(perdure.EventSignal, "{}")
		for n := one; n <= 4; n++ {
			done := live(t.Context(), b.log(), eventlog.From{AfterSeq: &n})
			synctest.Wait()
			defer func() {
				text := map[int64]string{}
				for _, i := range <-done {
					switch i.Event {
					case eventlog.Snapshot:
						text[i.Seq] = member[string](t, i, "data")
					case perdure.EventToken:
						if int(member[float64](t, i, "offset")) != len(text[i.Seq]) {
							t.Errorf("after %d: %s does not continue %q", n, i.Data(), text[i.Seq])
						}
						text[i.Seq] += member[string](t, i, "data")
					}
				}
				if text[one] != "abc" || text[two] != "xyz" {
					t.Errorf("after %d the client holds %v", n, text)
				}
			}()
		}
		b.chunk(one, "c")
		b.chunk(two, "z")
		b.event(perdure.EventCompleted, "{}")
	})
}

// TestAfterSeqCursorBetweenSnapshotsLosesNothing checks that a reader that is disconnected after
// the first of two snapshots still receives the second block.
func TestAfterSeqCursorBetweenSnapshotsLosesNothing(t *testing.T) {
	b := newMemoryLog()
	b.event(perdure.EventCreated, "{}")
	one := b.chunk(0, "ab")
	two := b.chunk(0, "xy")
	b.event(perdure.EventSignal, "{}")
	n := b.head.LastSeq
	var first eventlog.Item
	for item := range b.log().Tail(t.Context(), execution, eventlog.From{AfterSeq: &n}) {
		first = item
		break
	}
	if first.Seq != one {
		t.Fatalf("the first snapshot is %s", first.Data())
	}
	b.event(perdure.EventCompleted, "{}")
	rest := all(t, b.log(), eventlog.From{Cursor: first.Cursor.String()})
	if !slices.ContainsFunc(rest, func(i eventlog.Item) bool { return i.Seq == two }) {
		t.Errorf("block %d is lost:\n%s", two, lines(rest))
	}
}
