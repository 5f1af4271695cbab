package log

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
	// A follower's ring contains the newest items of a log: at most ringItems items, which together
	// have at most ringBytes bytes. A reader that needs older items reads the store.
	ringItems = 1024
	ringBytes = 1 << 20
	// patience is the number of consecutive failed reads of the store after which the readers get
	// the error.
	patience = 5
)

// follower caches the newest items of one log for all readers that have reached the end of the log.
// It has no goroutine of its own: the reader that receives a hint reads the store for all of them.
type follower struct {
	org       string // org to which the reads are charged
	execution uuid.UUID
	refs      int             // guarded by Log.mu
	hints     <-chan struct{} // receives a value when the log has grown
	stop      func()          // ends the subscription to hints

	reading sync.Mutex // held while one reader reads the store for all

	mu      sync.Mutex // guards the fields below
	ready   bool       // head was read at least once
	head    store.Head
	turn    int    // incremented when the store contains another log than before, after a restore
	ring    []Item // all items after the position base, up to head.LastPos
	base    int64  // position directly before the first item of ring
	bytes   int
	failed  int
	err     error
	changed chan struct{} // closed and replaced at each change of the fields
	// newest is a copy of the items after the position newestAfter. It is never modified, because
	// readers that wait at the same position share it.
	newest      []Item
	newestAfter int64
}

// follow adds a reader to the log's follower and returns the follower. When follow returns, the
// follower has read the log's head, unless a read of the store has failed.
func (l *Log) follow(org string, execution uuid.UUID) *follower {
	f := l.join(org, execution)
	if !f.isReady() {
		l.advance(f)
	}
	return f
}

// join adds a reader to the log's follower, and creates the follower for the first reader. It
// subscribes to hints before the first read of the store, so that no hint is missed.
func (l *Log) join(org string, execution uuid.UUID) *follower {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.followers[execution]
	if f == nil {
		f = &follower{org: org, execution: execution, changed: make(chan struct{})}
		f.hints, f.stop = l.hints.Subscribe(notify.Log(execution))
		l.followers[execution] = f
		if len(l.followers) == 1 {
			l.startPoller()
		}
	}
	f.refs++
	return f
}

// unfollow removes a reader from the follower. It ends the follower after the last reader.
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

// context returns the context for reads of the store on behalf of all readers of the log.
func (f *follower) context() context.Context { return store.ForOrg(context.Background(), f.org) }

// advance reads the store until the log has no newer records. It does not stop when the calling
// reader leaves, because it reads for all readers of the log.
func (l *Log) advance(f *follower) {
	f.reading.Lock()
	defer f.reading.Unlock()
	ctx := f.context()
	for {
		var items []Item
		var head store.Head
		var err error
		if f.isFailing() {
			if err = l.checkRestored(f); err != nil {
				f.take(nil, head, err)
				return
			}
		}
		if f.isReady() {
			items, head, err = l.page(ctx, f.execution, f.head.LastPos, pageRecords) // f.head changes only while f.reading is locked, as it is here
		} else {
			head, err = l.read.LogHead(ctx, f.execution)
		}
		if !f.take(items, head, err) {
			return
		}
	}
}

// Grown takes records that this process has committed, and passes them to the readers of the log,
// who then need not read them from the store. If Grown returns false, it has passed none, and the
// caller must send a hint. That happens if the records do not directly follow those that the
// readers have, if a read of the store is in progress or has failed, or if a record is damaged. If
// the log has no readers, Grown does nothing and returns true.
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
		item, err := joined.item(execution, r)
		if err != nil {
			return false
		}
		item.Cursor, item.At = l.cursorOf(head, r), r.CreatedAt
		items[i] = item
	}
	f.take(items, head, nil)
	return true
}

// ends reports whether the last item of the ring is at `pos`, and the ring's items are from the log
// to which `head` belongs.
func (f *follower) ends(head store.Head, pos int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready && f.failed == 0 && f.head.Epoch == head.Epoch && f.head.LastPos == pos
}

// take stores the result of a read of the store in the follower. It reports whether the store has
// more to read.
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

// begin empties the ring, and sets its start to `head`. The caller must hold f.mu.
func (f *follower) begin(head store.Head) {
	if f.ready {
		f.turn++
	}
	f.ready, f.head = true, head
	f.ring, f.base, f.bytes = nil, head.LastPos, 0
	f.wake()
}

// isAnother reports whether the store now contains another log than the follower has read. A log
// that was restored from a backup and has grown since is recognised by checkRestored, not here.
func (f *follower) isAnother(head store.Head) bool {
	return head.Epoch != f.head.Epoch || head.LastPos < f.head.LastPos || head.LastPos == f.head.LastPos && head.Nonce != f.head.Nonce
}

func (f *follower) turns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turn
}

// isFailing reports whether the newest read of the store has failed. It is false while no read has
// succeeded yet.
func (f *follower) isFailing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready && f.failed > 0
}

// checkRestored is called when a read succeeds after failed ones, because the store may have been
// restored from a backup in the meantime. If the record at the follower's head now has another
// nonce, checkRestored empties the ring. The caller must hold f.reading.
func (l *Log) checkRestored(f *follower) error {
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

// add appends items to the ring, and drops the oldest items if the ring becomes too large.
func (f *follower) add(items []Item) {
	for _, i := range items {
		f.bytes += ringWeight(i)
	}
	f.ring = append(f.ring, items...)
	drop := 0
	for drop < len(f.ring)-1 && (len(f.ring)-drop > ringItems || f.bytes > ringBytes) {
		f.bytes -= ringWeight(f.ring[drop])
		f.base = f.ring[drop].Cursor.Pos
		f.ring[drop] = Item{} // frees the item's memory; readers have copies
		drop++
	}
	f.ring = f.ring[drop:]
}

// ringWeight returns the approximate memory in bytes that an item needs: for its record and its
// rendered data.
func ringWeight(i Item) int { return 2 * i.weight() }

func (f *follower) wake() {
	f.newest = nil
	close(f.changed)
	f.changed = make(chan struct{})
}

// followerView is what a reader at one position gets from a follower.
type followerView struct {
	items   []Item
	head    store.Head
	turn    int
	held    bool            // items contains everything after the reader's position
	changed <-chan struct{} // closed when there is more to see
}

// after returns a view of the items after a position.
func (f *follower) after(pos int64) (followerView, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := followerView{head: f.head, turn: f.turn, changed: f.changed}
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
