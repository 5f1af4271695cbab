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

// run is one goroutine of agent code, and its Context. Its fields belong to that goroutine, except
// those that mu guards.
type run struct {
	context.Context
	id     uuid.UUID
	live   context.Context // the worker's context: calls to the server outlive a cancellation
	cancel context.CancelCauseFunc
	w      *Worker
	def    agent.Definition

	claim     perdure.AgentClaim
	number    int64          // of the last commit in this claim
	goroutine atomic.Uintptr // the goroutine of Run; 0 once it has ended

	leaf       *uuid.UUID // parent of the next entry, including pending entries
	stored     *uuid.UUID // the committed leaf
	place      perdure.Place
	seq        int64 // of the newest checkpoint
	ckptLeaf   *uuid.UUID
	state      json.RawMessage
	version    int                // of the state
	tasks      known              // ended tasks, from committed bytes
	ended      ended              // the records when the function was entered
	records    int64              // stored since the newest checkpoint
	asked      map[uuid.UUID]bool // tasks scheduled or requested since the function was entered
	signals    []perdure.Signal   // pending and not taken, oldest first
	more       bool               // the server has further signals
	seen       int64              // the order up to which signals is complete
	fresh      time.Time          // the time at which signals was read
	taken      []perdure.Signal   // taken since the checkpoint, in order; uncommitted ones last
	takenBytes int                // their memory
	steps      map[string]bool    // names used
	asks       asks               // waits since the checkpoint, including a pending checkpoint
	before     *asks              // asks before the pending checkpoint
	unread     []string           // signals that prevented the end and that the function has not taken
	onEnd      []func(perdure.Status)
	pending    perdure.Commit
	entries    []perdure.Entry // pending entries on the path

	enteredAt *uuid.UUID       // the leaf when the function was entered
	since     *[]perdure.Entry // entries stored between the checkpoint and enteredAt, once read

	stream *stream
	resume chan resumption       // capacity one; sent to while the worker's mu is held
	span   atomic.Pointer[begun] // of the claim; nil without a tracer

	// holding reports whether the run holds an agent slot and counts as work. It is false while the
	// run is parked.
	holding bool

	mu    sync.Mutex // guards the fields below
	lease perdure.Lease
	beat  perdure.AgentBeat
	renew leaseClock

	// The worker's mu guards the fields below.
	//
	// parking is set from before the suspending commit is sent until the goroutine has parked. The
	// run's next claim may arrive in between.
	//
	// handed is set from when a claim is put into resume until the claim is adopted.
	parking bool
	handed  bool
	parkAt  perdure.CommitNumber
	kept    *perdure.Kept // what the server is told about it; nil while it is not parking
	spot    *list.Element // in the worker's list of parked runs
	weight  int           // memory while it is parked
}

// resumption tells a parked goroutine to continue with a claim, or to end if claim is nil.
type resumption struct{ claim *perdure.AgentClaim }

// startRun continues a claimed execution. If its goroutine is parked here at the commit of the
// claim, it continues in place; otherwise the function is entered from the top. The claim holds an
// agent slot, which the run releases.
func (w *Worker) startRun(live context.Context, c perdure.AgentClaim) {
	w.work.Add(1)
	if !w.goOn(c) {
		w.enter(live, c)
	}
}

// giveClaimBack releases an unused claim. The claim holds an agent slot and counts as work.
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

// enter runs a claimed execution's function from the top. The claim holds an agent slot and counts
// as work. A claim for a parked goroutine that is gone is incomplete, and is released.
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
		r.drop(errShutdown) // nothing is begun during a drain
	}
	w.mu.Unlock()
	if old != nil {
		old.drop(agent.ErrLeaseLost)
	}
	w.Observer.entered(c.Execution.Kind, c.Woke != perdure.WokeStart)
	w.goroutines.Add(1)
	go r.main()
}

// adopt takes over a claim: its lease and its data.
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

// reset sets the run to the state of a function that is entered from the top.
func (r *run) reset() {
	c := r.claim
	r.leaf, r.stored, r.enteredAt, r.since = c.Execution.Leaf, c.Execution.Leaf, c.Execution.Leaf, nil
	r.seq, r.state, r.version, r.ckptLeaf = 0, nil, 0, nil
	if k := c.Checkpoint; k != nil {
		r.seq, r.state, r.version, r.ckptLeaf = k.Sequence, k.State, k.StateVersion(), k.LeafEntryID
	}
	r.SetPlace(perdure.Place{ResponseID: c.Execution.ResponseID})
	r.tasks, r.asked, r.ended = known{}, map[uuid.UUID]bool{}, newEnded(c)
	r.claim.Ended = nil // frees the memory
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

// errPanic carries a panic of agent code to the release of the claim. The execution fails with the
// stack. Agent code never sees the error, so it does not reach a conversation.
type errPanic struct {
	value any
	stack []byte
}

func (e errPanic) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// main runs the agent until its execution has ended, or this worker's part of it is over.
func (r *run) main() {
	r.goroutine.Store(goroutine())
	defer r.goroutine.Store(0) // a later goroutine may have the same identifier
	defer r.finish()
	r.giveAgain(r.claim.Again)
	for !r.over() {
		out, err := r.call()
		if r.over() { // the result of a discarded function does not count
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

// call runs the function and recovers its panics.
func (r *run) call() (out json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errPanic{value: v, stack: debug.Stack()}
		}
	}()
	return r.def.Run(r, r.claim.Execution.Input)
}

// over reports whether the run may have no further effect.
func (r *run) over() bool {
	cause := context.Cause(r.Context)
	return cause != nil && !errors.Is(cause, agent.ErrCancelled)
}

// again enters the function once more in the same claim, because signals arrived that prevent the
// end.
func (r *run) again() {
	state, version, seq, leaf, ckpt := r.state, r.version, r.seq, r.stored, r.ckptLeaf
	tasks, taken, asked, ended := r.tasks, r.taken, r.asks.asked, r.ended.rewound()
	r.reset()
	r.ended = ended
	r.asks.asked, r.version, r.enteredAt = asked, version, leaf
	r.state, r.seq, r.leaf, r.stored, r.ckptLeaf, r.tasks = state, seq, leaf, leaf, ckpt, tasks
	r.giveAgain(taken)
}

// drop ends the run's context. The goroutine ends at its next blocking call.
func (r *run) drop(cause error) { r.cancel(cause) }

// exit ends the goroutine like testing.T.FailNow.
func (r *run) exit(cause error) {
	r.cancel(cause)
	runtime.Goexit()
}
