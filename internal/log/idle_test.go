package log_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	eventlog "github.com/perdure/perdure/internal/log"
)

// read returns how often the store was read: the reads of pages of records, the reads of one log's
// head, and the queries for the heads of all logs that have readers (rounds).
func (b *memoryLog) read() (pages, heads, rounds int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reads, b.heads, b.rounds
}

// TestIdleReadersShareOneQueryASecond checks how often the store is queried in a minute while 200
// readers of logs have nothing to read: never if hints cannot be lost, and otherwise once per
// second for all readers together.
func TestIdleReadersShareOneQueryASecond(t *testing.T) {
	const readers, seconds = 200, 60
	for name, open := range map[string]func(*memoryLog) *eventlog.Log{
		"hints are sure":    func(b *memoryLog) *eventlog.Log { return eventlog.New(b, storeEpoch, &b.hints) },
		"hints may be lost": (*memoryLog).log,
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newMemoryLog()
				b.event(perdure.EventCreated, "{}")
				l := open(b)
				ctx, cancel := context.WithCancel(t.Context())
				var left []chan struct{}
				for range readers {
					over := make(chan struct{})
					left = append(left, over)
					go func() {
						defer close(over)
						for range l.Tail(ctx, uuid.New(), eventlog.From{}) {
						}
					}()
				}
				synctest.Wait()
				pages, heads, rounds := b.read()
				time.Sleep(seconds*time.Second + time.Millisecond)
				synctest.Wait()
				pages2, heads2, rounds2 := b.read()
				if pages2 != pages || heads2 != heads {
					t.Errorf("%d idle readers read %d pages and %d heads in a minute", readers, pages2-pages, heads2-heads)
				}
				want := seconds
				if name == "hints are sure" {
					want = 0
				}
				if rounds2-rounds != want {
					t.Errorf("%d queries for all in a minute, want %d", rounds2-rounds, want)
				}
				cancel()
				for _, over := range left {
					<-over
				}
			})
		})
	}
}

// TestAFailedReadIsRepeated checks that if the read after a hint fails, the log is read again
// later, even if hints are never lost.
func TestAFailedReadIsRepeated(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		done := live(t.Context(), eventlog.New(b, storeEpoch, &b.hints), eventlog.From{})
		synctest.Wait()
		b.fail(perdure.Errorf(perdure.Unavailable, "no store"))
		b.event(perdure.EventCompleted, "{}")
		synctest.Wait()
		b.fail(nil)
		if items := <-done; len(items) != 3 {
			t.Errorf("the reader was given %d items, want 3", len(items))
		}
	})
}

// TestReaderChoosesHowLongItIsIdle checks that a reader with an idle interval of 5 s receives its
// first idle item after 5 s.
func TestReaderChoosesHowLongItIsIdle(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		began := time.Now()
		for item, err := range b.log().Tail(t.Context(), execution, eventlog.From{Idle: 5 * time.Second}) {
			if err != nil {
				t.Fatal(err)
			}
			if item.Event != "" {
				continue
			}
			if item.Cursor.Pos != 1 || time.Since(began) != 5*time.Second {
				t.Errorf("after %v came %+v", time.Since(began), item)
			}
			break
		}
	})
}

// TestReaderThatTookTheHintLeaves checks that a reader receives all new items, although twenty
// other readers of the log leave after their first new item. One of these may have received the
// hint, and so have read the store for all readers.
func TestReaderThatTookTheHintLeaves(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		l := eventlog.New(b, storeEpoch, &b.hints)
		for range 20 {
			go func() {
				for item := range l.Tail(t.Context(), execution, eventlog.From{}) {
					if item.Event == perdure.EventData {
						return
					}
				}
			}()
		}
		stays := live(t.Context(), l, eventlog.From{})
		synctest.Wait()
		for range 10 {
			b.event(perdure.EventData, `{"data":{}}`)
		}
		b.event(perdure.EventCompleted, "{}")
		if n := len(<-stays); n != 13 {
			t.Errorf("the reader that stayed was given %d items, want 13", n)
		}
	})
}
