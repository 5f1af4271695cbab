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
	"github.com/perdure/perdure/worker/internal/streams"
)

// run is one goroutine of agent code. It is also the agent.Context that the code receives. Only
// that goroutine uses the fields, except those that a mutex guards.
type run struct {
	context.Context
	id     uuid.UUID
	live   context.Context // the worker's context; a cancellation of the execution does not end it
	cancel context.CancelCauseFunc
	w      *Worker
	def    agent.Definition

	claim     perdure.AgentClaim
	number    int64          // number of the last commit with this claim
	goroutine atomic.Uintptr // identifier of the goroutine that calls Run; 0 after it has ended

	leaf       *uuid.UUID // the entry that becomes the parent of the next one; includes pending entries
	stored     *uuid.UUID // the leaf of the last commit
	place      perdure.Place
	seq        int64 // sequence number of the newest checkpoint
	ckptLeaf   *uuid.UUID
	state      json.RawMessage
	version    int                        // version of the agent's state in the newest checkpoint
	tasks      taskCache                  // tasks known to have ended
	ended      ended                      // steps and tasks that had ended when the function was entered
	records    int64                      // number of records stored since the newest checkpoint
	asked      map[uuid.UUID]perdure.Hash // inputs of the tasks scheduled since the function was entered
	signals    []perdure.Signal           // signals that are pending and not taken, oldest first
	more       bool                       // whether the server has more signals
	seen       int64                      // order number up to which the field signals is complete
	fresh      time.Time                  // time at which the field signals was read
	taken      []perdure.Signal           // signals taken since the checkpoint, in order; uncommitted ones last
	takenBytes int                        // memory in bytes of the signals in taken
	steps      map[string]bool            // names of steps that are in use
	// questionKeys are the keys of the questions that the function has asked since it was entered.
	// The field `questions` has those questions that are final.
	questionKeys  map[string]bool
	questions     map[uuid.UUID]*perdure.Question
	questionBytes int      // memory in bytes of questions
	asks          asks     // waits since the checkpoint, or since the pending checkpoint
	before        *asks    // value of asks before the pending checkpoint; nil without one
	unread        []string // names of signals that prevented the end and were not taken
	onEnd         []func(perdure.Status)
	pending       perdure.Commit
	entries       []perdure.Entry // pending entries, which are already on the path

	enteredAt *uuid.UUID       // the leaf when the function was entered
	since     *[]perdure.Entry // entries stored between the checkpoint and enteredAt; nil until read

	stream *streams.Stream
	resume chan resumption       // has capacity one; the sender has locked the worker's mu
	span   atomic.Pointer[begun] // the span of the claim; nil without a tracer

	// holding reports whether the run has an agent slot and counts as work of the worker. It is
	// false while the run is parked.
	holding bool

	mu    sync.Mutex // guards the fields below
	lease perdure.Lease
	beat  perdure.AgentHeartbeatReply
	renew leaseClock

	// The worker's mu guards the fields below.
	//
	// parking is true while a commit that suspends or ends the execution is being sent, and after
	// that commit until the goroutine has parked. It becomes false if the commit fails. The run's
	// next claim may arrive while parking is true.
	//
	// handed is true from when a claim is sent to the channel `resume` until the run has adopted the
	// claim.
	parking bool
	handed  bool
	parkAt  perdure.CommitNumber
	// kept describes this goroutine for the server; nil if the goroutine will not be parked.
	kept   *perdure.RetainedState
	spot   *list.Element // position in the worker's list of parked runs
	weight int           // approximate memory in bytes while the run is parked
}

// resumption is what a parked goroutine receives: the claim with which it continues, or nil if it
// must end.
type resumption struct{ claim *perdure.AgentClaim }

// startRun runs a claimed execution. If the execution's goroutine is parked on this worker, and no
// other worker has committed since the goroutine parked, that goroutine continues. Otherwise the
// function is entered from the top. The claim has an agent slot, which is released when the run
// ends.
func (w *Worker) startRun(live context.Context, c perdure.AgentClaim) {
	w.work.Add(1)
	if !w.goOn(c) {
		w.enter(live, c)
	}
}

// giveClaimBack releases a claim for which there is no run, and the agent slot of the claim. The
// claim then no longer counts as work of the worker.
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

// enter calls the function of a claimed execution from the top, in a new goroutine. The claim has
// an agent slot and already counts as work of the worker. A claim with ContinuesParked lacks data,
// because the server made it for a parked goroutine. That goroutine has ended if enter is called,
// so enter releases such a claim.
func (w *Worker) enter(live context.Context, c perdure.AgentClaim) {
	if c.ContinuesParked {
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
		r.drop(errShutdown) // a draining worker begins no new work
	}
	w.mu.Unlock()
	if old != nil {
		old.drop(agent.ErrLeaseLost)
	}
	w.Observer.entered(c.Execution.Kind, c.WakeReason != perdure.WakeStart)
	w.goroutines.Add(1)
	go r.main()
}

// adopt makes c the claim of the run: the run uses the lease and the data of c, and opens a new
// stream.
func (r *run) adopt(c perdure.AgentClaim) {
	if c.ContinuesParked {
		had := r.claim
		c.Execution.Input, c.Execution.InputBlob = had.Execution.Input, had.Execution.InputBlob
		c.Execution.Gate = had.Execution.Gate
		c.Checkpoint, c.Again = had.Checkpoint, had.Again
	}
	r.claim, r.number = c, 0
	r.beginSpan(c)
	r.sayClaimed()
	r.mu.Lock()
	r.lease, r.beat, r.renew = c.Lease, perdure.AgentHeartbeatReply{}, r.w.newLease(c.LeaseFor)
	r.mu.Unlock()
	lease := c.Lease
	r.stream = r.w.streams.Open(r, nil, &lease, func(err error) { r.lose(lease, err) })
	r.stream.SetPlace(r.place)
	r.records = c.Execution.RecordsSinceCheckpoint
	r.learn(c.Results)
	r.learnQuestions(c.Questions)
	r.setSignals(c)
	r.w.mu.Lock()
	r.handed = false
	r.w.mu.Unlock()
}

// reset gives the run's fields the values that they have when the function is entered from the top with the
// current claim.
func (r *run) reset() {
	c := r.claim
	r.leaf, r.stored, r.enteredAt, r.since = c.Execution.Leaf, c.Execution.Leaf, c.Execution.Leaf, nil
	r.seq, r.state, r.version, r.ckptLeaf = 0, nil, 0, nil
	if k := c.Checkpoint; k != nil {
		r.seq, r.state, r.version, r.ckptLeaf = k.Sequence, k.State, k.StateVersion(), k.LeafEntryID
	}
	r.SetPlace(perdure.Place{ResponseID: c.Execution.ResponseID})
	r.questions, r.questionBytes = nil, 0
	r.tasks, r.asked, r.ended = taskCache{}, map[uuid.UUID]perdure.Hash{}, newEnded(c)
	r.claim.Ended = nil // frees memory
	r.learn(c.Results)
	r.learnQuestions(c.Questions)
	r.steps = map[string]bool{}
	r.questionKeys = map[string]bool{}
	r.asks, r.before = asks{count: map[string]int{}, asked: c.Execution.RecordedWaits}, nil
	r.pending, r.entries, r.taken, r.takenBytes, r.onEnd = perdure.Commit{}, nil, nil, 0, nil
}

func (r *run) learn(tasks []*perdure.Task) {
	for _, t := range tasks {
		if t != nil && t.Status.Terminal() {
			r.tasks.put(t)
		}
	}
}

// errPanic is a panic of agent code. When the worker releases the claim, it sends the text of
// errPanic to the server, because the execution may fail with that text. The text contains the
// stack. The stack does not come into a conversation, because agent code never gets this error.
type errPanic struct {
	value any
	stack []byte
}

func (e errPanic) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// main calls the agent's function until the execution has ended or this worker no longer runs it.
func (r *run) main() {
	r.goroutine.Store(goroutine())
	defer r.goroutine.Store(0) // another goroutine may get the same identifier
	defer r.finish()
	r.giveAgain(r.claim.Again)
	for !r.over() {
		out, err := r.call()
		if r.over() { // the function was discarded, so its result is ignored
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

// call calls the agent's function, and returns a panic of the function as an errPanic.
func (r *run) call() (out json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errPanic{value: v, stack: debug.Stack()}
		}
	}()
	return r.def.Run(r, r.claim.Execution.Input)
}

// over reports whether the run has ended, so that it must not do anything more. A run whose
// execution is being cancelled is not over.
func (r *run) over() bool {
	cause := context.Cause(r.Context)
	return cause != nil && !errors.Is(cause, agent.ErrCancelled)
}

// again prepares another call of the function with the same claim, because pending signals keep the
// execution from ending. The function gets the state, results and signals since the checkpoint, as if it
// had been entered from the top.
func (r *run) again() {
	state, version, seq, leaf, ckpt := r.state, r.version, r.seq, r.stored, r.ckptLeaf
	tasks, taken, asked, ended := r.tasks, r.taken, r.asks.asked, r.ended.rewound()
	r.reset()
	r.ended = ended
	r.asks.asked, r.version, r.enteredAt = asked, version, leaf
	r.state, r.seq, r.leaf, r.stored, r.ckptLeaf, r.tasks = state, seq, leaf, leaf, ckpt, tasks
	r.giveAgain(taken)
}

// drop ends the context of the run with the given cause. The run's goroutine ends at its next
// blocking call.
func (r *run) drop(cause error) { r.cancel(cause) }

// exit ends the context of the run with the given cause, and then the calling goroutine, as
// testing.T.FailNow does. Deferred functions run.
func (r *run) exit(cause error) {
	r.cancel(cause)
	runtime.Goexit()
}
