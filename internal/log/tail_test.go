package log_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/notify"
)

func TestLateReaderSeesEverything(t *testing.T) {
	b := newMemoryLog()
	b.chat()
	items := all(t, b.log(), eventlog.From{})
	seen := map[int64]int{}
	for _, i := range items {
		seen[i.Seq]++
	}
	for seq := int64(1); seq <= b.head.LastSeq; seq++ {
		if seen[seq] == 0 {
			t.Errorf("seq %d was not shown", seq)
		}
	}
	const superseded = 6
	if seen[superseded] != 1 {
		t.Errorf("a superseded block was shown in %d pieces; its content is gone", seen[superseded])
	}
}

func TestCatchUpKeepsTheOldestEvents(t *testing.T) {
	b := newMemoryLog()
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

func TestResumeAfterEveryRecordEqualsWhole(t *testing.T) {
	b := newMemoryLog()
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

// live reads a log in a goroutine. At the end of the log, it sends all items on the returned
// channel.
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

func TestNothingIsMissedBetweenReplayAndLive(t *testing.T) {
	for _, silent := range []bool{false, true} {
		t.Run(fmt.Sprintf("hints lost=%v", silent), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newMemoryLog()
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

// lateSubscriber is a Notifier that runs a function when a reader subscribes: after the reader has
// read the store, and before it receives hints.
type lateSubscriber struct {
	notify.Notifier
	between func()
}

func (l lateSubscriber) Subscribe(topics ...string) (<-chan struct{}, func()) {
	l.between()
	return l.Notifier.Subscribe(topics...)
}

// TestRecordBetweenReadAndSubscriptionIsDeliveredAtOnce checks that a record that is committed
// while a reader subscribes is delivered without a delay.
func TestRecordBetweenReadAndSubscriptionIsDeliveredAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		l := eventlog.New(b, storeEpoch, lateSubscriber{&b.hints, func() { b.event(perdure.EventCompleted, "{}") }})
		began := time.Now()
		items := <-live(t.Context(), l, eventlog.From{})
		if took := time.Since(began); took != 0 || len(items) != 3 {
			t.Errorf("%d items came within %v, want 3 at once", len(items), took)
		}
	})
}

func TestHintsAreFollowedAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
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
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
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
		if reads != 20 {
			t.Errorf("20 events were read %d times for 50 readers, want once each", reads)
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
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		l := b.log()
		next, stop := pull(t, l)
		defer stop()
		first := next()
		fast := live(t.Context(), l, eventlog.From{})
		synctest.Wait()
		for range 5000 { // more items than fit in the ring
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
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
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
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
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

func TestTailReportsAStoreThatKeepsFailing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
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

// pull returns a function that reads the next item of the log, and a function that stops reading.
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

func member[T any](t *testing.T, i eventlog.Item, name string) T {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(i.Data(), &members); err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(members[name], &v); err != nil {
		t.Fatalf("%s of %s: %v", name, i.Data(), err)
	}
	return v
}
