package log_test

import (
	"testing"
	"testing/synctest"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/store"
)

// last returns the newest record and the head.
func (b *memoryLog) last() (store.Head, []perdure.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.head, b.records[len(b.records)-1:]
}

// TestGrownRecordsAreNotReadFromTheStore checks that records that are passed to Grown reach the
// readers unchanged, without a read of the store.
func TestGrownRecordsAreNotReadFromTheStore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		seq := b.chunk(0, "a")
		l := eventlog.New(b, storeEpoch, &b.hints)
		readers := []<-chan []eventlog.Item{live(t.Context(), l, eventlog.From{}), live(t.Context(), l, eventlog.From{})}
		synctest.Wait()
		pages, heads, _ := b.read()
		b.silent = true
		for range 50 {
			b.chunk(seq, "é")
			head, records := b.last()
			if !l.Grown(execution, head, records) {
				t.Fatal("it was not taken")
			}
			synctest.Wait()
		}
		if again, headsAgain, _ := b.read(); again != pages || headsAgain != heads {
			t.Errorf("the store was read %d times", again-pages+headsAgain-heads)
		}
		b.silent = false
		b.event(perdure.EventCompleted, "{}")
		want := lines(all(t, b.log(), eventlog.From{}))
		for i, r := range readers {
			if got := lines(<-r); got != want {
				t.Errorf("reader %d was given\n%s\nwant\n%s", i, got, want)
			}
		}
	})
}

// TestGrownRecordsWithAGapAreRejected checks that Grown rejects records after a gap, records that
// the readers already have, and records of another log. The reader still receives the whole log.
func TestGrownRecordsWithAGapAreRejected(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newMemoryLog()
		b.event(perdure.EventCreated, "{}")
		seq := b.chunk(0, "a")
		l := eventlog.New(b, storeEpoch, &b.hints)
		if head, records := b.last(); !l.Grown(execution, head, records) {
			t.Error("a log that nobody follows needs a hint")
		}
		reader := live(t.Context(), l, eventlog.From{})
		synctest.Wait()
		b.silent = true
		oldHead, old := b.last()
		b.chunk(seq, "b") // Grown is called for it after a later record
		missedHead, missed := b.last()
		b.chunk(seq, "c")
		head, records := b.last()
		if l.Grown(execution, head, records) {
			t.Error("what leaves a record out was taken")
		}
		if l.Grown(execution, oldHead, old) {
			t.Error("what is held already was taken")
		}
		other := missedHead
		other.Epoch++
		if l.Grown(execution, other, missed) {
			t.Error("what is of another log was taken")
		}
		if !l.Grown(execution, missedHead, missed) || !l.Grown(execution, head, records) {
			t.Error("in order it was not taken")
		}
		b.silent = false
		b.event(perdure.EventCompleted, "{}")
		if got, want := lines(<-reader), lines(all(t, b.log(), eventlog.From{})); got != want {
			t.Errorf("the reader was given\n%s\nwant\n%s", got, want)
		}
	})
}
