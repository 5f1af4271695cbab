// Package questionfeed reports to readers which questions of their org have changed. On each
// server, one goroutine per org reads the store for all readers of the org.
package questionfeed

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

const (
	// Window is the maximum number of open questions that a feed watches. If an org has more open
	// questions, the feed reports only the changes of the newest 1000.
	Window = 1000
	// changesKept is the maximum number of changes that a feed stores for readers that have not
	// read them yet.
	changesKept = 4 * Window
	// tick is the interval at which a feed reads the questions even without a hint.
	tick = time.Second
	// patience is the number of consecutive failed reads of the store after which the readers get
	// the error.
	patience = 5
)

// Store is the part of a store that feeds read.
type Store interface {
	QuestionMarks(ctx context.Context, org string, most int) ([]store.QuestionMark, error)
}

// Feeds has a feed for each org that has readers.
type Feeds struct {
	store Store
	hints notify.Notifier

	mu   sync.Mutex // guards orgs, and feed.refs
	orgs map[string]*feed
}

// New creates feeds that read from the store. The notifier `hints` reports changes. If a hint is
// lost, a feed notices the change within a second.
func New(s Store, hints notify.Notifier) *Feeds {
	return &Feeds{store: s, hints: hints, orgs: map[string]*feed{}}
}

// feed reads the open questions of one org for all readers of that org. Its goroutine runs while
// there are readers. The last reader that leaves waits until the goroutine has ended.
type feed struct {
	refs   int
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex // guards the fields below
	ready   bool       // the questions were read at least once
	marks   map[uuid.UUID]store.QuestionMark
	changes map[uuid.UUID]int64 // position of the newest change of each question
	pos     int64               // position of the newest change
	lostTo  int64               // changes up to this position may be missing
	failed  int
	err     error
	changed chan struct{} // closed and replaced at each change of the fields above
}

// Reader reads the changes of an org's questions from a position. It must be used by one goroutine
// at a time.
type Reader struct {
	feeds *Feeds
	feed  *feed
	org   string
	pos   int64
}

// Read creates a reader of the changes of the org's questions. The caller must call Close.
func (s *Feeds) Read(org string) *Reader {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.orgs[org]
	if f == nil {
		ctx, cancel := context.WithCancel(store.ForOrg(context.Background(), org))
		f = &feed{cancel: cancel, done: make(chan struct{}), marks: map[uuid.UUID]store.QuestionMark{}, changes: map[uuid.UUID]int64{}, changed: make(chan struct{})}
		s.orgs[org] = f
		go s.look(ctx, org, f)
	}
	f.refs++
	return &Reader{feeds: s, feed: f, org: org}
}

// Close ends the reader. If it was the last reader of its org, Close waits until the org's feed
// has ended.
func (r *Reader) Close() {
	r.feeds.mu.Lock()
	r.feed.refs--
	last := r.feed.refs == 0
	if last {
		delete(r.feeds.orgs, r.org)
	}
	r.feeds.mu.Unlock()
	if last {
		r.feed.cancel()
		<-r.feed.done
	}
}

// look reads the questions at each hint, and every second because a hint may be lost. It subscribes
// before the first read, so that no hint is missed.
func (s *Feeds) look(ctx context.Context, org string, f *feed) {
	defer close(f.done)
	hints, stop := s.hints.Subscribe(notify.Questions(org))
	defer stop()
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		marks, err := s.store.QuestionMarks(ctx, org, Window)
		f.take(marks, err)
		select {
		case <-ctx.Done():
			return
		case <-hints:
		case <-timer.C:
		}
	}
}

// take compares the questions with those of the previous read, and records the changes. If an open
// question is now missing, it was decided, or there are at least Window newer open questions.
func (f *feed) take(marks []store.QuestionMark, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if f.failed++; f.failed >= patience {
			f.err = err
			f.wake()
		}
		return
	}
	before, known := f.pos, f.ready && f.err == nil
	now := make(map[uuid.UUID]store.QuestionMark, len(marks))
	for _, m := range slices.Backward(marks) { // oldest first
		if _, twice := now[m.ID]; !twice && f.ready && f.marks[m.ID] != m {
			f.change(m.ID)
		}
		now[m.ID] = m
	}
	for id, m := range f.marks {
		if _, there := now[id]; m.Open && !there {
			f.change(id)
		}
	}
	f.marks, f.ready, f.err, f.failed = now, true, nil, 0
	if !known || f.pos != before {
		f.forget()
		f.wake()
	}
}

func (f *feed) change(id uuid.UUID) {
	f.pos++
	f.changes[id] = f.pos
}

// forget drops the older half of the stored changes if there are more than changesKept.
func (f *feed) forget() {
	if len(f.changes) <= changesKept {
		return
	}
	all := make([]int64, 0, len(f.changes))
	for _, pos := range f.changes {
		all = append(all, pos)
	}
	slices.Sort(all)
	f.lostTo = all[len(all)/2]
	for id, pos := range f.changes {
		if pos <= f.lostTo {
			delete(f.changes, id)
		}
	}
}

func (f *feed) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// Reset waits until the feed has read the store, and makes the reader skip all changes up to now.
// The caller then reads the questions, which contain the results of these changes. Errors: those of
// the store; the cause of the context's end.
func (r *Reader) Reset(ctx context.Context) error {
	for {
		r.feed.mu.Lock()
		ready, err, changed := r.feed.ready, r.feed.err, r.feed.changed
		r.pos = r.feed.pos
		r.feed.mu.Unlock()
		if ready || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
	}
}

// Changes returns the questions that have changed since the previous call, each once, in the order
// of their changes. If the result `lost` is true, the reader was too slow, and the caller must call
// Reset and read all questions. If there are no changes, the returned channel is closed when there
// may be new ones.
func (r *Reader) Changes() (ids []uuid.UUID, lost bool, changed <-chan struct{}, err error) {
	f := r.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil || r.pos < f.lostTo {
		return nil, f.err == nil, f.changed, f.err
	}
	for id, pos := range f.changes {
		if pos > r.pos {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return cmp.Compare(f.changes[a], f.changes[b]) })
	r.pos = f.pos
	return ids, false, f.changed, nil
}
