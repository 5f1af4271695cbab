package eventlog

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
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

// follower keeps the newest of one log for all readers that have caught up. It
// has no goroutine: whoever of its readers takes a hint reads for all of them,
// so that a log on which nothing happens costs a little memory and no time.
type follower struct {
	org       string // whose reads it makes
	execution uuid.UUID
	refs      int             // guarded by Log.mu
	hints     <-chan struct{} // that the log has grown
	stop      func()          // ends hints

	reading sync.Mutex // held by the one who reads the store for it

	mu      sync.Mutex // guards what follows
	ready   bool       // head has been read
	head    store.Head
	turn    int    // counts how often the log was another one than was held
	ring    []Item // all after base, up to head.LastPos
	base    int64  // the position before the ring
	bytes   int
	failed  int
	err     error
	changed chan struct{} // closed at each change, and replaced
	// newest are the items after newestAfter, for the many readers that are there. They
	// are never written to.
	newest      []Item
	newestAfter int64
}

// follow returns the log's follower, which is ready unless the store fails.
func (l *Log) follow(org string, execution uuid.UUID) *follower {
	f := l.join(org, execution)
	if !f.isReady() {
		l.advance(f)
	}
	return f
}

// join adds a reader to the log's follower, which is made for the first one. It
// subscribes before its first look, so that no hint falls between.
func (l *Log) join(org string, execution uuid.UUID) *follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.followers[execution]
	if f == nil {
		f = &follower{org: org, execution: execution, changed: make(chan struct{})}
		f.hints, f.stop = l.hints.Subscribe(notify.Log(execution))
		l.followers[execution] = f
		if len(l.followers) == 1 {
			l.startRounds()
		}
	}
	f.refs++
	return f
}

// unfollow is the reader's leave.
func (l *Log) unfollow(f *follower) {
	l.mu.Lock()
	f.refs--
	if f.refs > 0 {
		l.mu.Unlock()
		return
	}
	delete(l.followers, f.execution)
	f.stop()
	wait := func() {}
	if len(l.followers) == 0 {
		wait = l.stopRounds()
	}
	l.mu.Unlock()
	wait()
}

func (f *follower) isReady() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready
}

// context is that of reads for all readers of the log.
func (f *follower) context() context.Context { return store.ForOrg(context.Background(), f.org) }

// advance reads until there is nothing new. It is done for all readers, so that
// the end of the one that does it is no reason to end it; each read is short.
func (l *Log) advance(f *follower) {
	f.reading.Lock()
	defer f.reading.Unlock()
	ctx := f.context()
	for {
		var items []Item
		var head store.Head
		var err error
		if f.isAway() {
			if err = l.backAgain(f); err != nil {
				f.take(nil, head, err)
				return
			}
		}
		if f.isReady() {
			items, head, err = l.page(ctx, f.execution, f.head.LastPos, pageRecords) // only who reads writes it
		} else {
			head, err = l.read.LogHead(ctx, f.execution)
		}
		if !f.take(items, head, err) {
			return
		}
	}
}

// Grown takes in what a commit in this process has added to a log, so that nobody
// has to read it from the store, and reports whether it could: it cannot if it does
// not follow what is held, or somebody is just reading. A log that nobody follows
// needs no hint either: who comes next begins with a look at the store.
func (l *Log) Grown(execution uuid.UUID, head store.Head, records []perdure.Record) bool {
	l.mu.Lock()
	f := l.followers[execution]
	l.mu.Unlock()
	if f == nil {
		return true
	}
	if !f.reading.TryLock() {
		return false
	}
	defer f.reading.Unlock()
	if !f.ends(head, records[0].Pos-1) {
		return false
	}
	joined, n, err := l.joinEntries(f.context(), execution, records)
	if err != nil || n < len(records) {
		return false
	}
	items := make([]Item, len(records))
	for i, r := range records {
		item, err := joined.render(execution, r)
		if err != nil {
			return false
		}
		item.Cursor, item.At = l.cursorOf(head, r), r.CreatedAt
		items[i] = item
	}
	f.take(items, head, nil)
	return true
}

// ends reports whether what is held ends at the position, in a log of that epoch.
func (f *follower) ends(head store.Head, pos int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready && f.failed == 0 && f.head.Epoch == head.Epoch && f.head.LastPos == pos
}

// take stores what was read, and reports whether there may be more.
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
	if !f.ready || f.isAnother(head) {
		f.begin(head)
		return false
	}
	if len(items) == 0 {
		return false
	}
	f.add(items)
	more := items[len(items)-1].Cursor.Pos < head.LastPos
	newest := items[len(items)-1].Cursor
	head.LastPos, head.Nonce = newest.Pos, newest.Nonce
	f.head = head
	f.wake()
	return more
}

// begin holds a log from its head on. The caller holds mu.
func (f *follower) begin(head store.Head) {
	if f.ready {
		f.turn++
	}
	f.ready, f.head = true, head
	f.ring, f.base, f.bytes = nil, head.LastPos, 0
	f.wake()
}

// isAnother reports whether a head shows that the log is another one than is held.
// One that has grown since it was put back does not: see backAgain.
func (f *follower) isAnother(head store.Head) bool {
	return head.Epoch != f.head.Epoch || head.LastPos < f.head.LastPos || head.LastPos == f.head.LastPos && head.Nonce != f.head.Nonce
}

func (f *follower) turns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turn
}

// isAway reports whether the store could not be read the last time.
func (f *follower) isAway() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready && f.failed > 0
}

// backAgain reads a log that could not be read for a while: it may have been put back
// meanwhile, and have grown since. The caller holds reading.
func (l *Log) backAgain(f *follower) error {
	nonces, head, err := l.read.Nonces(f.context(), f.execution, f.head.LastPos)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if nonce, known := nonces[f.head.LastPos]; known && nonce != f.head.Nonce {
		f.begin(head)
	}
	return nil
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
	f.newest = nil
	close(f.changed)
	f.changed = make(chan struct{})
}

// look is what a reader sees of a follower.
type look struct {
	items   []Item
	head    store.Head
	turn    int
	held    bool            // the items are all there is after the position
	changed <-chan struct{} // closed when there is more to see
}

// after looks for items after pos.
func (f *follower) after(pos int64) (look, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := look{head: f.head, turn: f.turn, changed: f.changed}
	if f.err != nil || !f.ready {
		return seen, f.err
	}
	if pos < f.base {
		return seen, nil
	}
	seen.held = true
	next, _ := slices.BinarySearchFunc(f.ring, pos+1, func(i Item, pos int64) int { return cmp.Compare(i.Cursor.Pos, pos) })
	if len(f.newest) != len(f.ring)-next || f.newestAfter != pos {
		f.newest, f.newestAfter = slices.Clone(f.ring[next:]), pos
	}
	seen.items = f.newest
	return seen, nil
}
