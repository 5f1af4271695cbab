package eventlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/store"
)

func TestTrap21_LateReaderSeesEverything(t *testing.T) {
	b := newBook()
	b.chat()
	items := all(t, b.log(), eventlog.From{})
	seen := map[int64]bool{}
	for _, i := range items {
		seen[i.Seq] = true
	}
	for seq := int64(1); seq <= b.head.LastSeq; seq++ {
		if !seen[seq] {
			t.Errorf("seq %d was not shown", seq)
		}
	}
}

func TestTrap22_CatchUpKeepsTheOldest(t *testing.T) {
	b := newBook()
	for range 3000 {
		b.event(perdure.EventData, `{"data":{"type":"note"}}`)
	}
	b.event(perdure.EventCompleted, "")
	items := all(t, b.log(), eventlog.From{})
	for i, item := range items[:3001] {
		if item.Seq != int64(i+1) {
			t.Fatalf("item %d has seq %d", i, item.Seq)
		}
	}
}

func TestTrap58_CutAtEveryRecordAndResumeEqualsWhole(t *testing.T) {
	b := newBook()
	b.chat()
	whole := all(t, b.log(), eventlog.From{})
	for cut := range whole {
		rest := all(t, b.log(), eventlog.From{Cursor: whole[cut].Cursor.String()})
		want := whole[cut+1:]
		if whole[cut].Event == perdure.EventCompleted || whole[cut].Event == eventlog.End {
			want = whole[len(whole)-1:]
		}
		if got := lines(rest); got != lines(want) {
			t.Errorf("resumed after %d:\n%s\nwant:\n%s", cut, got, lines(want))
		}
	}
}

// live reads in a goroutine and gives what it has read when the log ends.
func live(ctx context.Context, l *eventlog.Log, from eventlog.From) <-chan []eventlog.Item {
	done := make(chan []eventlog.Item, 1)
	go func() {
		var items []eventlog.Item
		for item, err := range l.Tail(ctx, execution, from) {
			if err != nil {
				break
			}
			if item.Event != "" {
				items = append(items, item)
			}
		}
		done <- items
	}()
	return done
}

func TestTrap23_NothingIsMissedAtTheSeam(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprintf("hints lost=%v", silent), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBook()
				b.silent = silent
				l := b.log()
				var readers []<-chan []eventlog.Item
				grow := func() {
					readers = append(readers, live(t.Context(), l, eventlog.From{}))
					synctest.Wait()
				}
				b.event(perdure.EventCreated, "{}")
				grow()
				seq := b.chunk(0, "a")
				grow()
				for i := range 2000 {
					b.chunk(seq, "x")
					if i%400 == 0 {
						grow()
					}
				}
				b.closeBlock(seq, perdure.BlockDone)
				b.event(perdure.EventFailed, "{}")
				want := lines(all(t, b.log(), eventlog.From{}))
				for i, r := range readers {
					if got := lines(<-r); got != want {
						t.Errorf("reader %d saw another log (%d bytes, want %d)", i, len(got), len(want))
					}
				}
			})
		})
	}
}

func TestHintsAreFollowedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.event(perdure.EventCreated, "{}")
		done := live(t.Context(), b.log(), eventlog.From{})
		synctest.Wait()
		began := time.Now()
		b.event(perdure.EventCompleted, "{}")
		<-done
		if took := time.Since(began); took != 0 {
			t.Errorf("the end came after %v", took)
		}
	})
}

func TestReadersAtTheHeadShareTheReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.event(perdure.EventCreated, "{}")
		l := b.log()
		var readers []<-chan []eventlog.Item
		for range 50 {
			readers = append(readers, live(t.Context(), l, eventlog.From{}))
		}
		synctest.Wait()
		b.mu.Lock()
		before := b.reads
		b.mu.Unlock()
		for range 20 {
			b.event(perdure.EventData, `{"data":{}}`)
			synctest.Wait()
		}
		b.mu.Lock()
		reads := b.reads - before
		b.mu.Unlock()
		if reads > 100 {
			t.Errorf("20 events were read %d times for 50 readers", reads)
		}
		b.event(perdure.EventCompleted, "{}")
		for _, r := range readers {
			if n := len(<-r); n != 23 {
				t.Errorf("a reader saw %d items", n)
			}
		}
	})
}

func TestSlowReaderDoesNotDisturbOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.event(perdure.EventCreated, "{}")
		l := b.log()
		next, stop := pull(t, l)
		defer stop()
		first := next()
		fast := live(t.Context(), l, eventlog.From{})
		synctest.Wait()
		for range 5000 { // more than the ring holds
			b.event(perdure.EventData, `{"data":{}}`)
		}
		b.event(perdure.EventCompleted, "{}")
		if n := len(<-fast); n != 5003 {
			t.Errorf("the fast reader saw %d items", n)
		}
		n := 1
		for item := first; item.Event != eventlog.End; item = next() {
			n++
		}
		if n != 5003 {
			t.Errorf("the slow reader saw %d items", n)
		}
	})
}

func TestReaderIsIdleWhileThereIsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.event(perdure.EventCreated, "{}")
		next, stop := pull(t, b.log())
		defer stop()
		next()
		began := time.Now()
		item := next()
		if item.Event != "" || item.Cursor.Pos != 1 || time.Since(began) != time.Second {
			t.Errorf("after %v came %+v", time.Since(began), item)
		}
	})
}

func TestTailEndsWithItsContextsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		stopping := errors.New("stopping")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(stopping) })
		var last error
		for _, err := range b.log().Tail(ctx, execution, eventlog.From{}) {
			last = err
		}
		if !errors.Is(last, stopping) {
			t.Errorf("the tail ended with %v", last)
		}
	})
}

func TestTailTellsOfAStoreThatKeepsFailing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.event(perdure.EventCreated, "{}")
		time.AfterFunc(1500*time.Millisecond, func() {
			b.mu.Lock()
			b.err = perdure.Errorf(perdure.Unavailable, "no store")
			b.mu.Unlock()
		})
		var last error
		for _, err := range b.log().Tail(t.Context(), execution, eventlog.From{}) {
			last = err
		}
		if !perdure.IsCode(last, perdure.Unavailable) {
			t.Errorf("the tail ended with %v", last)
		}
	})
}

// pull reads item by item.
func pull(t *testing.T, l *eventlog.Log) (func() eventlog.Item, func()) {
	ctx, cancel := context.WithCancel(t.Context())
	items, more := make(chan eventlog.Item), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for item, err := range l.Tail(ctx, execution, eventlog.From{}) {
			if err != nil {
				return
			}
			<-more
			items <- item
		}
	}()
	next := func() eventlog.Item {
		more <- struct{}{}
		return <-items
	}
	return next, func() {
		cancel()
		for {
			select {
			case more <- struct{}{}:
			case <-items:
			case <-done:
				return
			}
		}
	}
}

func TestCursorThatDoesNotFitIsAnsweredByOneReset(t *testing.T) {
	b := newBook()
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
			if items[0].Event != eventlog.Reset || string(items[0].Data) != want {
				t.Fatalf("first came %s %s", items[0].Event, items[0].Data)
			}
			if lines(items[1:]) != whole {
				t.Error("the log did not follow")
			}
		})
	}
}

func TestTruncatedLogResets(t *testing.T) {
	b := newBook()
	b.chat()
	at := b.cursor(2)
	b.records = b.records[5:]
	items := all(t, b.log(), eventlog.From{Cursor: at})
	if items[0].Event != eventlog.Reset || !strings.Contains(string(items[0].Data), `"truncated"`) || items[1].Cursor.Pos != 6 {
		t.Errorf("came %s", lines(items[:2]))
	}
	if first := all(t, b.log(), eventlog.From{})[0]; first.Cursor.Pos != 6 {
		t.Errorf("from the start came %+v", first)
	}
}

// A store need not give the positions of superseded content.
func TestPositionsOfSupersededContentMayBeAbsent(t *testing.T) {
	b := newBook()
	b.chat()
	b.records = slices.DeleteFunc(b.records, func(r perdure.Record) bool { return r.Chunk != nil && r.Chunk.Text == "" && r.Chunk.Offset > 0 })
	whole := all(t, b.log(), eventlog.From{})
	for pos := int64(1); pos < b.head.LastPos; pos++ {
		rest := all(t, b.log(), eventlog.From{Cursor: b.cursor(pos)})
		want := slices.DeleteFunc(slices.Clone(whole), func(i eventlog.Item) bool { return i.Cursor.Pos <= pos })
		if lines(rest) != lines(want) {
			t.Errorf("after %d came\n%s\nwant\n%s", pos, lines(rest), lines(want))
		}
	}
}

func TestRestoredLogResetsItsLiveReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.event(perdure.EventCreated, "{}")
		b.event(perdure.EventStarted, "{}")
		done := live(t.Context(), b.log(), eventlog.From{})
		synctest.Wait()
		b.mu.Lock()
		b.records, b.head = b.records[:1], store.Head{Epoch: 100, LastSeq: 1, LastPos: 1}
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

func TestAfterSeqGivesBlocksWhole(t *testing.T) {
	b := newBook()
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

func TestAfterSeqGoesOnInOpenBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
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
							t.Errorf("after %d: %s does not continue %q", n, i.Data, text[i.Seq])
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

// A client that is cut off between two snapshots comes to the same.
func TestAfterSeqCursorBetweenSnapshotsLosesNothing(t *testing.T) {
	b := newBook()
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
		t.Fatalf("the first snapshot is %s", first.Data)
	}
	b.event(perdure.EventCompleted, "{}")
	rest := all(t, b.log(), eventlog.From{Cursor: first.Cursor.String()})
	if !slices.ContainsFunc(rest, func(i eventlog.Item) bool { return i.Seq == two }) {
		t.Errorf("block %d is lost:\n%s", two, lines(rest))
	}
}

func member[T any](t *testing.T, i eventlog.Item, name string) T {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(i.Data, &members); err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(members[name], &v); err != nil {
		t.Fatalf("%s of %s: %v", name, i.Data, err)
	}
	return v
}
