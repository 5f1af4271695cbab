package eventlog

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
	// ringItems and ringBytes bound what a follower keeps for its readers. One
	// that is further behind reads the store.
	ringItems = 1024
	ringBytes = 1 << 20
	// patience is how many reads in a row may fail before the readers are told.
	patience = 5
)

// follower reads the head of one log once for all readers that have caught up.
// It runs while it has readers, and the last one waits for its end.
type follower struct {
	refs   int // guarded by Log.mu
	cancel context.CancelFunc
	done   chan struct{}

	mu      sync.Mutex // guards what follows
	ready   bool       // head has been read
	head    store.Head
	ring    []Item // all after base, up to head.LastPos
	base    int64  // the position before the ring
	bytes   int
	failed  int
	err     error
	changed chan struct{} // closed at each change, and replaced
}

// follow gives the log's follower, and starts it for the first reader.
func (l *Log) follow(execution uuid.UUID) *follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.followers[execution]
	if f == nil {
		ctx, cancel := context.WithCancel(context.Background())
		f = &follower{cancel: cancel, done: make(chan struct{}), changed: make(chan struct{})}
		l.followers[execution] = f
		go l.run(ctx, execution, f)
	}
	f.refs++
	return f
}

// unfollow is the reader's leave.
func (l *Log) unfollow(execution uuid.UUID, f *follower) {
	l.mu.Lock()
	f.refs--
	last := f.refs == 0
	if last {
		delete(l.followers, execution)
	}
	l.mu.Unlock()
	if last {
		f.cancel()
		<-f.done
	}
}

// run looks at the log at each hint, and every second in case one was lost. It
// subscribes before its first look, so that none falls between.
func (l *Log) run(ctx context.Context, execution uuid.UUID, f *follower) {
	defer close(f.done)
	hints, stop := l.hints.Subscribe(notify.Log(execution))
	defer stop()
	timer := time.NewTicker(tick)
	defer timer.Stop()
	for {
		l.advance(ctx, execution, f)
		select {
		case <-ctx.Done():
			return
		case <-hints:
		case <-timer.C:
		}
	}
}

// advance reads until there is nothing new.
func (l *Log) advance(ctx context.Context, execution uuid.UUID, f *follower) {
	for ctx.Err() == nil {
		var items []Item
		var head store.Head
		var err error
		if f.ready { // only this goroutine writes it
			items, head, err = l.page(ctx, execution, f.head.LastPos, pageRecords)
		} else {
			head, err = l.read.LogHead(ctx, execution)
		}
		if !f.take(items, head, err) {
			return
		}
	}
}

// take stores what was read, and tells whether there may be more.
func (f *follower) take(items []Item, head store.Head, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		if f.failed++; f.failed == patience {
			f.err = err
			f.wake()
		}
		return false
	}
	f.failed, f.err = 0, nil
	if !f.ready || head.Epoch != f.head.Epoch || head.LastPos < f.head.LastPos {
		f.ready, f.head = true, head
		f.ring, f.base, f.bytes = nil, head.LastPos, 0
		f.wake()
		return false
	}
	if len(items) == 0 {
		return false
	}
	f.add(items)
	more := items[len(items)-1].Cursor.Pos < head.LastPos
	head.LastPos = items[len(items)-1].Cursor.Pos
	f.head = head
	f.wake()
	return more
}

// add puts items into the ring, and drops the oldest beyond its bounds.
func (f *follower) add(items []Item) {
	for _, i := range items {
		f.bytes += len(i.Data)
	}
	f.ring = append(f.ring, items...)
	drop := 0
	for drop < len(f.ring)-1 && (len(f.ring)-drop > ringItems || f.bytes > ringBytes) {
		f.bytes -= len(f.ring[drop].Data)
		f.base = f.ring[drop].Cursor.Pos
		f.ring[drop] = Item{} // readers hold copies; let go of the data
		drop++
	}
	f.ring = f.ring[drop:]
}

func (f *follower) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}

// look is what a reader sees of a follower.
type look struct {
	items   []Item
	head    store.Head
	held    bool            // the items are all there is after the position
	changed <-chan struct{} // closed when there is more to see
}

// after looks for items after pos.
func (f *follower) after(pos int64) (look, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := look{head: f.head, changed: f.changed}
	if f.err != nil || !f.ready {
		return seen, f.err
	}
	if pos < f.base {
		return seen, nil
	}
	seen.held = true
	next, _ := slices.BinarySearchFunc(f.ring, pos+1, func(i Item, pos int64) int { return cmp.Compare(i.Cursor.Pos, pos) })
	seen.items = slices.Clone(f.ring[next:])
	return seen, nil
}
