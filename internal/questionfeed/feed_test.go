package questionfeed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/questionfeed"
	"github.com/perdure/perdure/internal/store"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table is a store that contains only the marks (id and version) of questions. It counts its reads.
type table struct {
	notify.Local
	mu    sync.Mutex
	marks []store.QuestionMark
	err   error
	reads int
}

func (s *table) QuestionMarks(context.Context, string, int) ([]store.QuestionMark, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	return slices.Clone(s.marks), s.err
}

// set replaces the stored marks, and sends a hint.
func (s *table) set(err error, marks ...store.QuestionMark) {
	s.mu.Lock()
	s.marks, s.err = marks, err
	s.mu.Unlock()
	s.Publish(notify.Questions("org"))
}

func mark(n int, version int64, open bool) store.QuestionMark {
	return store.QuestionMark{ID: id(n), Version: version, Open: open}
}

func id(n int) uuid.UUID { return uuid.NewSHA1(uuid.Nil, fmt.Append(nil, n)) }

// next waits for changes and returns them.
func next(t *testing.T, r *questionfeed.Reader) (ids []uuid.UUID, lost bool, err error) {
	t.Helper()
	for {
		ids, lost, changed, err := r.Changes()
		if len(ids) > 0 || lost || err != nil {
			return ids, lost, err
		}
		<-changed
	}
}

func wantNext(t *testing.T, r *questionfeed.Reader, want ...int) {
	t.Helper()
	var ids []uuid.UUID
	for len(ids) < len(want) {
		some, lost, err := next(t, r)
		if lost || err != nil {
			t.Fatal(lost, err)
		}
		ids = append(ids, some...)
	}
	for i, n := range want {
		if ids[i] != id(n) {
			t.Errorf("changed are %v, want %v", ids, want)
		}
	}
}

// TestChanges checks that a question counts as changed if it is new, has another version, or is no
// longer open. A decided question does not count as changed when the store no longer returns it.
func TestChanges(t *testing.T) {
	s := &table{marks: []store.QuestionMark{mark(2, 1, true), mark(1, 1, true), mark(2, 1, true), mark(0, 3, false)}}
	r := questionfeed.New(s, s).Read("org")
	defer r.Close()
	if err := r.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.set(nil, mark(3, 1, true), mark(2, 1, true), mark(1, 1, true)) // question 0 now has too many newer ones
	wantNext(t, r, 3)
	s.set(nil, mark(3, 1, true), mark(2, 2, true), mark(4, 5, false))
	wantNext(t, r, 4, 2, 1)
}

// TestReadersShareReads checks that one goroutine reads the store for all readers of an org, and
// that the goroutine ends when the last reader leaves.
func TestReadersShareReads(t *testing.T) {
	s := &table{}
	feeds := questionfeed.New(s, s)
	var all []*questionfeed.Reader
	for range 50 {
		r := feeds.Read("org")
		if err := r.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	s.set(nil, mark(1, 1, true))
	for _, r := range all {
		wantNext(t, r, 1)
	}
	s.mu.Lock()
	reads := s.reads
	s.mu.Unlock()
	if reads > 10 {
		t.Errorf("the store was read %d times", reads)
	}
	for _, r := range all {
		r.Close()
	}
}

// TestASlowReaderIsReset checks that a reader that misses more changes than the feed stores gets
// the result `lost` from Changes.
func TestASlowReaderIsReset(t *testing.T) {
	s := &table{}
	feeds := questionfeed.New(s, s)
	slow, quick := feeds.Read("org"), feeds.Read("org")
	defer slow.Close()
	defer quick.Close()
	for _, r := range []*questionfeed.Reader{slow, quick} {
		if err := r.Reset(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	const all = 5 * questionfeed.Window
	for first := 0; first < all; first += questionfeed.Window {
		var marks []store.QuestionMark
		for n := range questionfeed.Window {
			marks = append(marks, mark(first+n, 1, true))
		}
		s.set(nil, marks...)
		for got := map[uuid.UUID]bool{}; !got[id(first+questionfeed.Window-1)] || !got[id(first)]; {
			ids, lost, err := next(t, quick)
			if lost || err != nil {
				t.Fatal(lost, err)
			}
			for _, one := range ids {
				got[one] = true
			}
		}
	}
	if _, lost, err := next(t, slow); !lost || err != nil {
		t.Fatalf("the slow reader gets lost %v, %v", lost, err)
	}
	if err := slow.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.set(nil, mark(all, 1, false))
	ids, lost, err := next(t, slow)
	if lost || err != nil || !slices.Contains(ids, id(all)) {
		t.Errorf("after the reset: %d changes, lost %v, %v", len(ids), lost, err)
	}
}

// TestAStoreThatFails checks that readers get the store's error after several failed reads, and get
// no error once the store works again.
func TestAStoreThatFails(t *testing.T) {
	broken := errors.New("broken")
	s := &table{err: broken}
	r := questionfeed.New(s, s).Read("org")
	defer r.Close()
	done := make(chan error, 1)
	go func() { done <- r.Reset(t.Context()) }()
	for {
		select {
		case err := <-done:
			if !errors.Is(err, broken) {
				t.Errorf("the error is %v", err)
			}
			s.set(nil)
			for r.Reset(t.Context()) != nil {
				s.set(nil)
			}
			return
		default:
			s.set(broken)
		}
	}
}
