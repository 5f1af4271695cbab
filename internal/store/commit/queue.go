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
	// Each lane except LaneClaims may put laneShare commands and laneShareBytes bytes into a batch,
	// even if more urgent commands are waiting, so that every lane makes progress. The most urgent
	// commands fill the rest of the batch.
	laneShare      = 16
	laneShareBytes = 512 << 10
	// orgShare and orgShareBytes are the maximum numbers of commands and bytes that one org has in
	// each lane of a batch while other orgs are active. Batches are then short, so commands of
	// other orgs do not wait long for the end of the running batch.
	orgShare      = 8
	orgShareBytes = 512 << 10
	// If Queue.Plain is set, plainCommands is used in place of batchCommands, and plainShare in
	// place of laneShare. Each command then needs its own transaction, and an urgent command waits
	// for the whole batch, so batches must be small.
	plainCommands = 8
	plainShare    = 1
	// queueLimit is the maximum number of waiting commands of one org, without renewals and claims.
	queueLimit = 10_000
	// perCommand is an estimate of the CPU time that the committer needs for one command.
	perCommand = 50 * time.Microsecond
)

// Call is a command in the queue, with the channel for its outcome.
type Call struct {
	store.Command
	// Misses is the number of batches in which the command was not run.
	Misses  int
	started atomic.Bool // set when the committer takes the call, or when the caller gives up
	done    chan Outcome
}

// Answer sends the outcome of the command to the caller of Do. It must be called only once.
func (c *Call) Answer(o Outcome) { c.done <- o }

// Outcome is the result of a command.
type Outcome struct {
	Answers []any
	Err     error
	// Missed reports whether the command was not run. It must then be in the next batch.
	Missed bool
}

// lane contains the waiting calls of one priority class. Each org has its own queue in the lane,
// and the orgs take turns.
type lane struct {
	orgs map[string][]*Call
	turn []string // orgs with waiting calls; the first one is served next
}

func (l *lane) push(c *Call) {
	if len(l.orgs[c.Org]) == 0 {
		l.turn = append(l.turn, c.Org)
	}
	l.orgs[c.Org] = append(l.orgs[c.Org], c)
}

// next returns the first waiting call that is the first of its org and for which the function `may`
// returns true. It also returns the index of that org in l.turn. If there is no such call, it
// returns nil.
func (l *lane) next(may func(*Call) bool) (c *Call, at int) {
	for at, org := range l.turn {
		if c := l.orgs[org][0]; may(c) {
			return c, at
		}
	}
	return nil, 0
}

// pop removes the first call of the org l.turn[at]. If that org has more calls, the org gets its
// next turn after all other orgs.
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

// Queue contains the commands that wait for a committer.
type Queue struct {
	// Observer receives commands and batches, if set. It must be set before the queue is used.
	Observer *store.Observer
	// Plain makes [Queue.Process] run each command in a separate transaction. It must be set before
	// the queue is used.
	Plain bool

	mu      sync.Mutex
	lanes   [store.Lanes]lane
	waiting map[string]int // number of waiting calls by org, without those of LaneClaims
	company turns.Company
	batches int64 // number of batches taken
	closed  bool
	wake    chan struct{} // contains a token if there may be a call to take
}

// NewQueue creates an empty queue.
func NewQueue() *Queue {
	q := &Queue{waiting: map[string]int{}, wake: make(chan struct{}, 1)}
	for i := range q.lanes {
		q.lanes[i].orgs = map[string][]*Call{}
	}
	return q
}

// push adds a call. Errors: unavailable once the queue is closed, rate_limited for an org with too
// many waiting calls.
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

// Close closes the queue, so that it refuses new calls. Waiting calls can still be taken.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// Take waits for calls and returns the next batch. It does not wait for more calls to fill the
// batch. It returns nil if the queue is closed and empty.
func (q *Queue) Take() []*Call {
	for range q.wake {
		batch, end := q.takeNow()
		if len(batch) > 0 || end {
			return batch
		}
	}
	return nil
}

// TakeNow returns the next batch without waiting; the batch may be empty.
func (q *Queue) TakeNow() []*Call {
	batch, _ := q.takeNow()
	return batch
}

func (q *Queue) takeNow() (batch []*Call, end bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.batches++
	b := batchOf{q: q, most: batchCommands}
	each := laneShare
	if q.Plain {
		b.most, each = plainCommands, plainShare
	}
	if q.company.Present(q.batches) {
		b.shares = map[orgLane]share{}
	}
	b.fill(store.LaneClaims, b.most-(store.Lanes-1)*each, batchBytes)
	for lane := store.LaneClaims + 1; lane < store.Lanes; lane++ {
		b.fill(lane, each, laneShareBytes)
	}
	for lane := range store.Lane(store.Lanes) {
		b.fill(lane, b.most, batchBytes)
	}
	more := q.some()
	if more || q.closed {
		q.signal()
	}
	return slices.Concat(b.calls[:]...), q.closed && !more
}

// some reports whether any call is waiting.
func (q *Queue) some() bool {
	return slices.ContainsFunc(q.lanes[:], func(l lane) bool { return len(l.turn) > 0 })
}

// batchOf collects the calls of one batch. The queue must be locked meanwhile.
type batchOf struct {
	q     *Queue
	most  int // maximum number of commands
	calls [store.Lanes][]*Call
	n     int
	bytes int
	// shares contains the numbers of commands and bytes that each org already has in each lane of
	// the batch. If it is nil, one org may fill the batch.
	shares map[orgLane]share
}

// orgLane is an org in one lane. An org has a share in each lane, so that its claims do not use up
// the share of its other writes.
type orgLane struct {
	org  string
	lane store.Lane
}

// share is the number of commands and bytes that an org has in one lane of a batch.
type share struct{ commands, bytes int }

// may reports whether the call fits into its org's share of the batch. The first call of an org
// fits whatever its size.
func (b *batchOf) may(c *Call) bool {
	if b.shares == nil || c.Org == "" {
		return true
	}
	s := b.shares[orgLane{c.Org, c.Lane}]
	return s.commands == 0 || s.commands < shareOf(c.Lane) && s.bytes+c.Bytes <= orgShareBytes
}

// shareOf returns the maximum number of commands of a lane that one org has in a batch. Renewals and
// claims are urgent and have a larger share.
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

// fill moves calls from a lane into the batch, with at most the given numbers of commands and
// bytes. It stops when the batch is full. The first command of a lane or of the batch may have more
// bytes, because otherwise a large command would never run.
func (b *batchOf) fill(lane store.Lane, commands, bytes int) {
	l := &b.q.lanes[lane]
	for taken, size := 0, 0; taken < commands && b.n < b.most; {
		c, at := l.next(b.may)
		if c == nil || b.n > 0 && b.bytes+c.Bytes > batchBytes || taken > 0 && size+c.Bytes > bytes {
			return
		}
		l.pop(at)
		b.leave(c)
		if !c.started.CompareAndSwap(false, true) {
			continue // the caller has given up and no longer waits
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

// Do queues the command and waits for its outcome. If ctx ends before the command starts, Do
// returns the error of ctx, and the command does not run. Once the command has started, Do waits
// for the outcome even if ctx ends.
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
	// The committer's work counts as CPU time of the caller's org.
	defer fair.Charge(ctx, perCommand+time.Duration(c.Bytes)*fair.PerByte)
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
