package commit

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/turns"
)

const (
	batchCommands = 256
	batchBytes    = 4 << 20
	// laneShare and laneShareBytes are what each lane but the first may take of
	// a batch before the more urgent lanes fill it, so that none starves.
	laneShare      = 16
	laneShareBytes = 512 << 10
	// orgShare and orgShareBytes are what one org may take of a batch in each lane while it is not
	// alone: whoever comes next waits for the batch that runs.
	orgShare      = 8
	orgShareBytes = 512 << 10
	// queueLimit is how many commands of one org may wait, renewals and claims
	// not counted.
	queueLimit = 10_000
)

// Call is a command in the queue, and where its outcome goes.
type Call struct {
	store.Command
	// Misses counts how often it was missed.
	Misses  int
	started atomic.Bool // by the committer, or by a caller that gave up
	done    chan Outcome
}

// Answer hands the outcome to the caller. It is called once.
func (c *Call) Answer(o Outcome) { c.done <- o }

// Outcome is what a command came to.
type Outcome struct {
	Answers []any
	Err     error
	// Missed says that the command was not run, and is to go into the next batch.
	Missed bool
}

// lane is one priority class: a queue for each org, served in turn.
type lane struct {
	orgs map[string][]*Call
	turn []string // orgs that have calls, the next one first
}

func (l *lane) push(c *Call) {
	if len(l.orgs[c.Org]) == 0 {
		l.turn = append(l.turn, c.Org)
	}
	l.orgs[c.Org] = append(l.orgs[c.Org], c)
}

// next returns the call whose turn it is among the orgs that may go, nil if there is
// none, and the place of its org.
func (l *lane) next(may func(*Call) bool) (c *Call, at int) {
	for at, org := range l.turn {
		if c := l.orgs[org][0]; may(c) {
			return c, at
		}
	}
	return nil, 0
}

// pop takes out the next call of the org at that place, and puts the org behind the
// others.
func (l *lane) pop(at int) {
	org := l.turn[at]
	l.turn = slices.Delete(l.turn, at, at+1)
	if rest := l.orgs[org][1:]; len(rest) > 0 {
		l.orgs[org] = rest
		l.turn = append(l.turn, org)
		return
	}
	delete(l.orgs, org)
}

// Queue holds what the committer will run.
type Queue struct {
	// Observer is told of commands and batches, if set. It is set before the queue
	// is used.
	Observer *store.Observer

	mu      sync.Mutex
	lanes   [store.Lanes]lane
	waiting map[string]int // by org, without LaneClaims
	company turns.Company
	batches int64 // taken
	closed  bool
	wake    chan struct{} // holds a token if there may be something to take
}

// NewQueue creates an empty queue.
func NewQueue() *Queue {
	q := &Queue{waiting: map[string]int{}, wake: make(chan struct{}, 1)}
	for i := range q.lanes {
		q.lanes[i].orgs = map[string][]*Call{}
	}
	return q
}

// push adds a call. Errors: unavailable once closed, rate_limited for an org
// with too many waiting.
func (q *Queue) push(c *Call) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return perdure.Errorf(perdure.Unavailable, "the store is closed")
	}
	if limited(c) {
		if q.waiting[c.Org] >= queueLimit {
			return perdure.Errorf(perdure.RateLimited, "too many writes of %s are waiting", c.Org)
		}
		q.waiting[c.Org]++
	}
	q.company.Asks(c.Org, q.batches)
	q.lanes[c.Lane].push(c)
	q.signal()
	return nil
}

func limited(c *Call) bool { return c.Org != "" && c.Lane != store.LaneClaims }

func (q *Queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Close lets no more in; what waits is still taken.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// Take returns the next batch. It waits until there is one; nil once the queue
// is closed and empty. It never waits for a batch to fill.
func (q *Queue) Take() []*Call {
	for range q.wake {
		batch, end := q.takeNow()
		if len(batch) > 0 || end {
			return batch
		}
	}
	return nil
}

// TakeNow returns the next batch without waiting; it may be empty.
func (q *Queue) TakeNow() []*Call {
	batch, _ := q.takeNow()
	return batch
}

func (q *Queue) takeNow() (batch []*Call, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batches++
	b := batchOf{q: q}
	if q.company.Present(q.batches) {
		b.shares = map[orgLane]share{}
	}
	b.fill(store.LaneClaims, batchCommands-(store.Lanes-1)*laneShare, batchBytes)
	for lane := store.LaneClaims + 1; lane < store.Lanes; lane++ {
		b.fill(lane, laneShare, laneShareBytes)
	}
	for lane := range store.Lane(store.Lanes) {
		b.fill(lane, batchCommands, batchBytes)
	}
	more := q.some()
	if more || q.closed {
		q.signal()
	}
	return slices.Concat(b.calls[:]...), q.closed && !more
}

// some reports whether anything waits.
func (q *Queue) some() bool {
	return slices.ContainsFunc(q.lanes[:], func(l lane) bool { return len(l.turn) > 0 })
}

// batchOf gathers one batch under the queue's lock.
type batchOf struct {
	q     *Queue
	calls [store.Lanes][]*Call
	n     int
	bytes int
	// shares are what each org has taken; nil where one org may take it all.
	shares map[orgLane]share
}

// orgLane is an org in one lane: its claims must not starve what else it writes.
type orgLane struct {
	org  string
	lane store.Lane
}

// share is what an org has taken of a batch in one lane.
type share struct{ commands, bytes int }

// may reports whether the call's org may take it, too. Its first one may have any size.
func (b *batchOf) may(c *Call) bool {
	if b.shares == nil || c.Org == "" {
		return true
	}
	s := b.shares[orgLane{c.Org, c.Lane}]
	return s.commands == 0 || s.commands < shareOf(c.Lane) && s.bytes+c.Bytes <= orgShareBytes
}

// shareOf is how many commands of a lane an org may have: renewals and claims, which come
// first, more than others.
func shareOf(lane store.Lane) int {
	if lane == store.LaneClaims {
		return 4 * orgShare
	}
	return orgShare
}

func (b *batchOf) takes(c *Call) {
	if b.shares != nil {
		s := b.shares[orgLane{c.Org, c.Lane}]
		b.shares[orgLane{c.Org, c.Lane}] = share{s.commands + 1, s.bytes + c.Bytes}
	}
	b.n, b.bytes = b.n+1, b.bytes+c.Bytes
}

// fill takes up to that many commands and bytes from a lane, but no more than
// the batch has room for. The first command of a lane, and the first of the
// batch, may go over these bytes: it would never go otherwise.
func (b *batchOf) fill(lane store.Lane, commands, bytes int) {
	l := &b.q.lanes[lane]
	for taken, size := 0, 0; taken < commands && b.n < batchCommands; {
		c, at := l.next(b.may)
		if c == nil || b.n > 0 && b.bytes+c.Bytes > batchBytes || taken > 0 && size+c.Bytes > bytes {
			return
		}
		l.pop(at)
		b.leave(c)
		if !c.started.CompareAndSwap(false, true) {
			continue // its caller has gone
		}
		b.calls[lane] = append(b.calls[lane], c)
		b.takes(c)
		taken, size = taken+1, size+c.Bytes
	}
}

func (b *batchOf) leave(c *Call) {
	if !limited(c) {
		return
	}
	if b.q.waiting[c.Org]--; b.q.waiting[c.Org] == 0 {
		delete(b.q.waiting, c.Org)
	}
}

// Do puts the command in the queue and waits for its outcome. A caller whose
// context ends first leaves, unless the command has been started: then it
// stays until it knows.
func (q *Queue) Do(ctx context.Context, command store.Command) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &Call{Command: command, done: make(chan Outcome, 1)}
	if q.Observer != nil && q.Observer.Command != nil {
		began := time.Now()
		defer func() { q.Observer.Command(c.Lane, time.Since(began)) }()
	}
	if err := q.push(c); err != nil {
		return nil, err
	}
	defer fair.Wait(ctx)()
	select {
	case o := <-c.done:
		return o.Answers, o.Err
	case <-ctx.Done():
	}
	if c.started.CompareAndSwap(false, true) {
		return nil, ctx.Err()
	}
	o := <-c.done
	return o.Answers, o.Err
}
