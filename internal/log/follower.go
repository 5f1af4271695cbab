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
	// ringItems and ringBytes bound the ring of a follower. A reader that is further behind reads
	// the store.
	ringItems = 1024
	ringBytes = 1 << 20
	// patience is the number of consecutive failed reads after which the readers get the error.
	patience = 5
)

// follower keeps the newest items of one log for all readers that have caught up. It has no
// goroutine: the reader that receives a hint reads the store for all of them. A log without
// activity therefore costs a little memory and no time.
type follower struct {
	org       string // the org that the reads are made for
	execution uuid.UUID
	refs      int             // guarded by Log.mu
	hints     <-chan struct{} // signals that the log has grown
	stop      func()          // ends the subscription of hints

	reading sync.Mutex // held while a reader reads the store for all

	mu      sync.Mutex // guards the fields below
	ready   bool       // head has been read
	head    store.Head
	turn    int    // incremented when the store holds a different log than before
	ring    []Item // all items after base, up to head.LastPos
	base    int64  // the position before the ring
	bytes   int
	failed  int
	err     error
	changed chan struct{} // closed and replaced at each change
	// newest caches the items after newestAfter, because many readers wait at the same position.
	// The slice is never modified.
	newest      []Item
	newestAfter int64
}

// follow adds a reader to the log's follower and returns the follower. The follower is ready unless
// the store fails.
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

// unfollow removes a reader from the follower. The last reader to leave ends the follower.
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

// context returns the context of the store reads that are made for all readers of the log.
func (f *follower) context() context.Context { return store.ForOrg(context.Background(), f.org) }

// advance reads the store until there is nothing new. It reads for all followers of the log, so it
// does not stop when the calling reader ends; each read is short.
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
			items, head, err = l.page(ctx, f.execution, f.head.LastPos, pageRecords) // only the holder of reading writes head
		} else {
			head, err = l.read.LogHead(ctx, f.execution)
		}
		if !f.take(items, head, err) {
			return
		}
	}
}

// Grown adds the records of a commit in this process to the follower of a log, so that no reader
// has to read them from the store. It returns false, and the caller must send a hint, if the
// records do not continue the ring, a read is in progress, or a record is damaged. It
// returns true for a log without readers: a new reader reads the store first.
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

// ends reports whether the ring ends at pos, and head belongs to the same log as the ring.
func (f *follower) ends(head store.Head, pos int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready && f.failed == 0 && f.head.Epoch == head.Epoch && f.head.LastPos == pos
}

// take stores the result of a read, and reports whether there may be more to read.
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

// begin clears the ring and starts it at head. The caller holds mu.
func (f *follower) begin(head store.Head) {
	if f.ready {
		f.turn++
	}
	f.ready, f.head = true, head
	f.ring, f.base, f.bytes = nil, head.LastPos, 0
	f.wake()
}

// isAnother reports whether head shows that the store now holds a different log. It does not
// recognise a log that was restored and has grown since; see checkRestored.
func (f *follower) isAnother(head store.Head) bool {
	return head.Epoch != f.head.Epoch || head.LastPos < f.head.LastPos || head.LastPos == f.head.LastPos && head.Nonce != f.head.Nonce
}

func (f *follower) turns() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.turn
}

// isFailing reports whether the last read of the store failed after an earlier one had succeeded.
func (f *follower) isFailing() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ready && f.failed > 0
}

// checkRestored checks a log after failed reads, during which the store may have been restored. If
// the record at the follower's head has another nonce, checkRestored starts the ring over. The
// caller holds reading.
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

// add appends items to the ring, and drops the oldest items beyond its bounds.
func (f *follower) add(items []Item) {
	for _, i := range items {
		f.bytes += ringWeight(i)
	}
	f.ring = append(f.ring, items...)
	drop := 0
	for drop < len(f.ring)-1 && (len(f.ring)-drop > ringItems || f.bytes > ringBytes) {
		f.bytes -= ringWeight(f.ring[drop])
		f.base = f.ring[drop].Cursor.Pos
		f.ring[drop] = Item{} // releases the data; readers hold copies
		drop++
	}
	f.ring = f.ring[drop:]
}

// ringWeight returns the approximate memory of an item in bytes: its record and its rendering.
func ringWeight(i Item) int { return 2 * i.weight() }

func (f *follower) wake() {
	f.newest = nil
	close(f.changed)
	f.changed = make(chan struct{})
}

// followerView is a reader's view of a follower.
type followerView struct {
	items   []Item
	head    store.Head
	turn    int
	held    bool            // items contains everything after the position
	changed <-chan struct{} // closed when there is more to see
}

// after returns the items after pos.
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
