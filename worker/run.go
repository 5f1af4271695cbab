package worker

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// run is one goroutine of agent code, and the Context that it sees. Its fields
// belong to that goroutine, but for those that mu guards.
type run struct {
	context.Context
	id     uuid.UUID
	live   context.Context // the worker's: what is sent to the server outlives a cancel
	cancel context.CancelCauseFunc
	w      *Worker
	def    agent.Definition

	claim     perdure.AgentClaim
	number    int64          // of the last commit in this claim
	goroutine atomic.Uintptr // that Run runs on; 0 once it has ended

	leaf       *uuid.UUID // that Append hangs on: of what is committed and pending
	stored     *uuid.UUID // the leaf that is committed
	place      perdure.Place
	seq        int64 // of the newest checkpoint
	ckptLeaf   *uuid.UUID
	state      json.RawMessage
	version    int                // of the state
	tasks      known              // ended ones, from committed bytes
	ended      ended              // when the function was entered
	records    int64              // stored since the newest checkpoint
	asked      map[uuid.UUID]bool // tasks scheduled or looked up in this run of the function
	signals    []perdure.Signal   // there and not taken, oldest first
	more       bool               // the server has signals that are not among these
	seen       int64              // order of the last signal up to which none is missing
	fresh      time.Time          // when signals was read
	taken      []perdure.Signal   // taken since the checkpoint, in order; the pending ones last
	takenBytes int                // what those take in memory
	steps      map[string]bool    // names used
	asks       asks               // waits since the checkpoint, a pending one included
	before     *asks              // those of before the pending checkpoint
	unread     []string           // signals that kept the function from ending and that it has not taken
	onEnd      []func(perdure.Status)
	pending    perdure.Commit
	entries    []perdure.Entry // pending ones that lie on the path

	enteredAt *uuid.UUID       // the leaf when the function was entered
	since     *[]perdure.Entry // stored since the checkpoint when it was, once read

	stream *stream
	resume chan resumption       // holds one; sent to with the worker's mu held
	span   atomic.Pointer[begun] // of the claim; nil without a tracer

	// holding says that the run has an agent slot and counts as work; it does
	// not while it is parked.
	holding bool

	mu    sync.Mutex // guards what follows
	lease perdure.Lease
	beat  perdure.AgentBeat
	renew leaseClock

	// What follows is guarded by the worker's mu. parking is set from before
	// the suspending commit is sent until the goroutine has parked: its claim
	// may come before it has. handed is set from when a claim was put into
	// resume until it is adopted.
	parking bool
	handed  bool
	parkAt  perdure.CommitNumber
	kept    *perdure.Kept // what is told of it; nil while it does not park
	spot    *list.Element // in the worker's order of those parked
	weight  int           // bytes that it holds while it is parked
}

// resumption tells a parked goroutine to continue with a claim, or to end.
type resumption struct{ claim *perdure.AgentClaim }

// startRun continues with a claimed execution: in place if its goroutine is
// parked here at the very commit that the claim found, from the top otherwise.
// The claim holds an agent slot, which the run gives back.
func (w *Worker) startRun(live context.Context, c perdure.AgentClaim) {
	w.work.Add(1)
	if !w.goOn(c) {
		w.enter(live, c)
	}
}

// giveClaimBack returns a claim that nothing was done with. It holds an agent slot
// and counts as work.
func (w *Worker) giveClaimBack(live context.Context, c perdure.AgentClaim) {
	defer w.work.Done()
	defer w.agentSlots.release(1)
	ctx, cancel := context.WithTimeout(live, releaseTimeout)
	defer cancel()
	err := w.retry(ctx, func() error {
		return w.Dispatch.Release(ctx, perdure.Release{WorkerID: w.ID, Agents: []perdure.AgentRelease{{Lease: c.Lease}}})
	})
	if err != nil {
		w.lineOf("execution", c.Lease.ExecutionID, "fence", c.Lease.Fence).Warn("could not give an execution back; its lease will run out", "error", err)
	}
}

// enter runs a claimed execution's function from the top. The claim holds an
// agent slot and counts as work. One for a goroutine that is gone meanwhile does
// not bring enough, and is given back.
func (w *Worker) enter(live context.Context, c perdure.AgentClaim) {
	if c.Kept {
		go w.giveClaimBack(live, c)
		return
	}
	def, ok := w.agents[c.Execution.Kind]
	if !ok {
		w.agentSlots.release(1)
		w.work.Done()
		w.lineOf("execution", c.Lease.ExecutionID, "fence", c.Lease.Fence, "kind", c.Execution.Kind).Error("the server gave a kind that is not registered")
		return
	}
	r := &run{w: w, id: c.Lease.ExecutionID, def: def, live: live, resume: make(chan resumption, 1), holding: true}
	r.Context, r.cancel = context.WithCancelCause(live)
	r.adopt(c)
	r.reset()
	w.mu.Lock()
	old := w.runs[r.id]
	w.runs[r.id], w.begun[r] = r, true
	if w.draining {
		r.drop(errShutdown) // nothing is begun any more
	}
	w.mu.Unlock()
	if old != nil {
		old.drop(agent.ErrLeaseLost)
	}
	w.Observer.entered(c.Execution.Kind, c.Woke != perdure.WokeStart)
	w.goroutines.Add(1)
	go r.main()
}

// adopt takes over a claim: its lease, and what it brings.
func (r *run) adopt(c perdure.AgentClaim) {
	if c.Kept {
		had := r.claim
		c.Execution.Input, c.Execution.InputBlob = had.Execution.Input, had.Execution.InputBlob
		c.Checkpoint, c.Again = had.Checkpoint, had.Again
	}
	r.claim, r.number = c, 0
	r.beginSpan(c)
	r.sayClaimed()
	r.mu.Lock()
	r.lease, r.beat, r.renew = c.Lease, perdure.AgentBeat{}, r.w.newLease(c.LeaseFor)
	r.mu.Unlock()
	lease := c.Lease
	r.stream = r.w.streams.open(r, nil, &lease, func(err error) { r.lose(lease, err) })
	r.stream.SetPlace(r.place)
	r.records = c.Execution.RecordsSinceCheckpoint
	r.learn(c.Results)
	r.setSignals(c)
	r.w.mu.Lock()
	r.handed = false
	r.w.mu.Unlock()
}

// reset puts the run where a function that is entered from the top stands.
func (r *run) reset() {
	c := r.claim
	r.leaf, r.stored, r.enteredAt, r.since = c.Execution.Leaf, c.Execution.Leaf, c.Execution.Leaf, nil
	r.seq, r.state, r.version, r.ckptLeaf = 0, nil, 0, nil
	if k := c.Checkpoint; k != nil {
		r.seq, r.state, r.version, r.ckptLeaf = k.Sequence, k.State, k.StateVersion(), k.LeafEntryID
	}
	r.SetPlace(perdure.Place{ResponseID: c.Execution.ResponseID})
	r.tasks, r.asked, r.ended = known{}, map[uuid.UUID]bool{}, newEnded(c)
	r.claim.Ended = nil // it need not stay in memory
	r.learn(c.Results)
	r.steps = map[string]bool{}
	r.asks, r.before = asks{count: map[string]int{}, asked: c.Execution.Asked}, nil
	r.pending, r.entries, r.taken, r.takenBytes, r.onEnd = perdure.Commit{}, nil, nil, 0, nil
}

func (r *run) learn(tasks []*perdure.Task) {
	for _, t := range tasks {
		if t != nil && t.Status.Terminal() {
			r.tasks.put(t)
		}
	}
}

// errPanic carries a panic of agent code to where the claim is given back. The
// execution fails with the stack; agent code never sees the error, so it reaches no
// conversation.
type errPanic struct {
	value any
	stack []byte
}

func (e errPanic) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// main runs the agent until its execution has ended, or the run is over for
// this worker.
func (r *run) main() {
	r.goroutine.Store(goroutine())
	defer r.goroutine.Store(0) // another one may be the same later
	defer r.finish()
	r.giveAgain(r.claim.Again)
	for !r.over() {
		out, err := r.call()
		if r.over() { // what a discarded function returned counts for nothing
			return
		}
		var panicked errPanic
		if errors.As(err, &panicked) {
			r.log().Error("agent code panicked", "panic", panicked.value, "stack", string(panicked.stack))
			r.release(perdure.AgentRelease{Panic: panicked.Error()})
			return
		}
		if errors.Is(err, agent.ErrNewerState) {
			r.log().Error("an execution needs a newer version of its agent", "error", err)
			r.release(perdure.AgentRelease{Unfit: failureOf(err).Message})
			return
		}
		ended, err := r.end(out, err)
		if err != nil || ended {
			return
		}
		r.again()
	}
}

// call runs the function, catching its panics.
func (r *run) call() (out json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errPanic{value: v, stack: debug.Stack()}
		}
	}()
	return r.def.Run(r, r.claim.Execution.Input)
}

// over reports whether nothing of this run counts any more.
func (r *run) over() bool {
	cause := context.Cause(r.Context)
	return cause != nil && !errors.Is(cause, agent.ErrCancelled)
}

// again enters the function once more in the same claim: signals came that the
// end has to wait for.
func (r *run) again() {
	state, version, seq, leaf, ckpt := r.state, r.version, r.seq, r.stored, r.ckptLeaf
	tasks, taken, asked, ended := r.tasks, r.taken, r.asks.asked, r.ended.rewound()
	r.reset()
	r.ended = ended
	r.asks.asked, r.version, r.enteredAt = asked, version, leaf
	r.state, r.seq, r.leaf, r.stored, r.ckptLeaf, r.tasks = state, seq, leaf, leaf, ckpt, tasks
	r.giveAgain(taken)
}

// drop ends the run's context: its goroutine ends at its next blocking call.
func (r *run) drop(cause error) { r.cancel(cause) }

// exit ends the goroutine without a trace, as testing.T.FailNow does.
func (r *run) exit(cause error) {
	r.cancel(cause)
	runtime.Goexit()
}
