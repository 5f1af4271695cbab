package sqlite

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

const (
	batchCommands = 256
	batchBytes    = 4 << 20
	// laneShare is what each lane but the first may take of a batch, in
	// commands, before the more urgent lanes fill it, so that none starves.
	laneShare = 16
	// queueLimit is how many commands of one org may wait, renewals and claims
	// not counted.
	queueLimit = 10_000
)

// call is a command in the queue, and where its outcome goes.
type call struct {
	store.Command
	started atomic.Bool // by the committer, or by a caller that gave up
	done    chan outcome
}

type outcome struct {
	answers []any
	err     error
}

// lane is one priority class: a queue for each org, served in turn.
type lane struct {
	orgs map[string][]*call
	turn []string // orgs that have calls, the next one first
}

func (l *lane) push(c *call) {
	if len(l.orgs[c.Org]) == 0 {
		l.turn = append(l.turn, c.Org)
	}
	l.orgs[c.Org] = append(l.orgs[c.Org], c)
}

// next gives the call whose turn it is, nil if there is none.
func (l *lane) next() *call {
	if len(l.turn) == 0 {
		return nil
	}
	return l.orgs[l.turn[0]][0]
}

// pop takes next out and gives the turn to the org after.
func (l *lane) pop() {
	org := l.turn[0]
	l.turn = l.turn[1:]
	if rest := l.orgs[org][1:]; len(rest) > 0 {
		l.orgs[org] = rest
		l.turn = append(l.turn, org)
		return
	}
	delete(l.orgs, org)
}

// queue holds what the committer will run.
type queue struct {
	mu      sync.Mutex
	lanes   [store.Lanes]lane
	waiting map[string]int // by org, without LaneClaims
	closed  bool
	wake    chan struct{} // holds a token if there may be something to take
}

func newQueue() *queue {
	q := &queue{waiting: map[string]int{}, wake: make(chan struct{}, 1)}
	for i := range q.lanes {
		q.lanes[i].orgs = map[string][]*call{}
	}
	return q
}

// push adds a call. Errors: unavailable once closed, rate_limited for an org
// with too many waiting.
func (q *queue) push(c *call) error {
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
	q.lanes[c.Lane].push(c)
	q.signal()
	return nil
}

func limited(c *call) bool { return c.Org != "" && c.Lane != store.LaneClaims }

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// take gives the next batch. It waits until there is one; nil once the queue
// is closed and empty. It never waits for a batch to fill.
func (q *queue) take() []*call {
	for range q.wake {
		batch, end := q.takeNow()
		if len(batch) > 0 || end {
			return batch
		}
	}
	return nil
}

func (q *queue) takeNow() (batch []*call, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := batchOf{q: q}
	shares := b.share()
	for i := range q.lanes {
		b.calls = append(b.calls, shares[i]...)
		b.fill(&q.lanes[i], batchCommands)
	}
	if b.more() || q.closed {
		q.signal()
	}
	return b.calls, q.closed && !b.more()
}

// batchOf gathers one batch under the queue's lock.
type batchOf struct {
	q     *queue
	calls []*call
	n     int
	bytes int
	full  bool
}

// share takes every lane's own share, so that what follows may fill the rest
// by priority alone.
func (b *batchOf) share() (shares [store.Lanes][]*call) {
	for i := 1; i < store.Lanes; i++ {
		from := len(b.calls)
		b.fill(&b.q.lanes[i], b.n+laneShare)
		shares[i] = append(shares[i], b.calls[from:]...)
	}
	b.calls = nil
	return shares
}

// fill takes from a lane until the batch has upTo commands or is full. A
// command over the limit of bytes goes alone.
func (b *batchOf) fill(l *lane, upTo int) {
	for b.n < min(upTo, batchCommands) && !b.full {
		c := l.next()
		if c == nil {
			return
		}
		if b.n > 0 && b.bytes+c.Bytes > batchBytes {
			b.full = true
			return
		}
		l.pop()
		b.leave(c)
		if c.started.CompareAndSwap(false, true) {
			b.calls = append(b.calls, c)
			b.n, b.bytes = b.n+1, b.bytes+c.Bytes
		}
	}
}

func (b *batchOf) leave(c *call) {
	if !limited(c) {
		return
	}
	if b.q.waiting[c.Org]--; b.q.waiting[c.Org] == 0 {
		delete(b.q.waiting, c.Org)
	}
}

func (b *batchOf) more() bool {
	for i := range b.q.lanes {
		if len(b.q.lanes[i].turn) > 0 {
			return true
		}
	}
	return false
}

// do puts the command in the queue and waits for its outcome. A caller whose
// context ends first leaves, unless the command has been started: then it
// stays until it knows.
func (q *queue) do(ctx context.Context, command store.Command) ([]any, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := &call{Command: command, done: make(chan outcome, 1)}
	if err := q.push(c); err != nil {
		return nil, err
	}
	select {
	case o := <-c.done:
		return o.answers, o.err
	case <-ctx.Done():
	}
	if c.started.CompareAndSwap(false, true) {
		return nil, ctx.Err()
	}
	o := <-c.done
	return o.answers, o.err
}
