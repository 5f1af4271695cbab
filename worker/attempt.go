package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/worker/internal/streams"
)

// attempt is one attempt of a task. It is also the agent.TaskContext that the task's code receives.
type attempt struct {
	context.Context
	live   context.Context
	cancel context.CancelCauseFunc
	w      *Worker
	claim  perdure.TaskClaim
	stream *streams.Stream
	span   begun

	resultStored bool // the result is stored in Config.Results; only the goroutine of main uses this field

	// silence is the timer that cancels the attempt when its code has called neither Heartbeat nor
	// Progress for the heartbeat timeout; nil if there is no such timeout.
	silence *time.Timer

	mu            sync.Mutex // guards the fields below
	progress      json.RawMessage
	signs         int // number of signs of life: calls of Heartbeat and Progress by the code
	reportedSigns int // value of signs when the last heartbeat was sent
	acked         int // value of signs that the server has acknowledged
	renew         leaseClock
}

var _ agent.TaskContext = (*attempt)(nil)

// errAttemptTimeout is the cause with which an attempt's context ends if the attempt exceeded its
// timeout.
var errAttemptTimeout = errors.New("the attempt took longer than its timeout")

// errSilent is the cause with which an attempt's context ends if its code called neither Heartbeat
// nor Progress for longer than the heartbeat timeout.
var errSilent = errors.New("the code gave no sign of itself for longer than the heartbeat timeout")

// startAttempt runs the code of the claimed task in a new goroutine. The claim occupies a task
// slot, which is released when the attempt ends.
func (w *Worker) startAttempt(live context.Context, c perdure.TaskClaim) {
	w.work.Add(1)
	a := &attempt{live: live, w: w, claim: c, renew: w.newLease(c.LeaseFor)}
	a.span = w.beginAttemptSpan(c, w.spanOf(c))
	a.Context, a.cancel = context.WithCancelCause(a.span.in(live))
	a.stream = w.streams.Open(a, &c.Lease, nil, func(err error) { a.cancel(err) })
	a.stream.SetPlace(c.Task.Place)
	if silent := c.Task.Options.HeartbeatTimeout; silent > 0 {
		a.silence = time.AfterFunc(silent, func() { a.cancel(errSilent) })
	}
	w.mu.Lock()
	w.attempts[c.Lease.ClaimID] = a
	w.mu.Unlock()
	go a.main()
}

func (a *attempt) main() {
	defer func() {
		a.cancel(nil)
		a.span.end(nil) // does nothing if the method end has already ended the span
		if a.silence != nil {
			a.silence.Stop()
		}
		a.w.streams.Close(a.stream)
		a.w.mu.Lock()
		delete(a.w.attempts, a.claim.Lease.ClaimID)
		a.w.mu.Unlock()
		a.w.taskSlots.release(1)
		a.w.work.Done()
	}()
	if timeout := a.claim.Task.Options.AttemptTimeout; timeout > 0 {
		stop := time.AfterFunc(timeout, func() { a.cancel(errAttemptTimeout) })
		defer stop.Stop()
	}
	def, ok := a.w.tasks[a.claim.Task.Kind]
	// The worker releases the claim if it has no code for the task, if it is draining, or if little
	// time of the lease is left. Another worker can then claim the task.
	if !ok || a.w.isDraining() || a.renewed().late() {
		a.giveBack(false)
		return
	}
	result, err := a.perform(def)
	if err == nil {
		err = a.misfit(def.Spec, result)
	}
	switch cause := context.Cause(a.Context); {
	case errors.Is(cause, errShutdown):
		a.giveBack(true)
	case errors.Is(cause, agent.ErrLeaseLost), perdure.IsCode(cause, perdure.LeaseLost):
		// Another worker may have the task now, so the worker drops the outcome of this attempt.
		a.w.Observer.leaseLost(true)
	default:
		failure := a.failure(err, cause)
		a.w.Observer.attempted(a.claim.Task.Kind, codeOf(failure))
		a.end(result, failure)
	}
}

// call runs the task's code and recovers its panics.
func (a *attempt) call(def agent.TaskDefinition) (result json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			// The stack is only logged and not part of the error, which may become a tool result in
			// a conversation.
			a.log().Error("task code panicked", "panic", v, "stack", string(debug.Stack()))
			err = &perdure.TaskError{Code: "panic", Message: fmt.Sprintf("panic: %v", v)}
		}
	}()
	if a.claim.Task.Options.Requires != "" && !def.Confines {
		return nil, agent.Permanent(perdure.Errorf(perdure.PermissionDenied,
			"not run: its commands must be confined (by a rule of the run's policy, or agent.Confined), and the code of this task does not confine them"))
	}
	return def.Run(a, a.claim.Task.Input)
}

func codeOf(failure *perdure.TaskError) perdure.Code {
	if failure == nil {
		return ""
	}
	return failure.Code
}

// failure returns the error with which the attempt failed, or nil if it succeeded.
func (a *attempt) failure(err, cause error) *perdure.TaskError {
	switch {
	case err == nil:
		return nil
	case errors.Is(cause, agent.ErrCancelled):
		return &perdure.TaskError{Code: "cancelled", Message: "cancelled", Permanent: true}
	case errors.Is(cause, errSilent):
		return &perdure.TaskError{Code: "timeout", Message: fmt.Sprintf("the code gave no sign of itself for %s", a.claim.Task.Options.HeartbeatTimeout)}
	case errors.Is(cause, errAttemptTimeout):
		return &perdure.TaskError{Code: "timeout", Message: fmt.Sprintf("the attempt took longer than %s", a.claim.Task.Options.AttemptTimeout)}
	}
	return failureOf(err)
}

// end sends the outcome of the attempt until the server has accepted or refused it. The reply may
// contain a claim of an execution whose goroutine is parked on this worker; end then continues that
// goroutine at once.
func (a *attempt) end(result json.RawMessage, failure *perdure.TaskError) {
	f := perdure.TaskFinish{WorkerID: a.w.ID, Lease: a.claim.Lease, Error: failure, Features: perdure.AllFeatures}
	if failure == nil {
		if result == nil {
			result = json.RawMessage("null")
		}
		f.Result = perdure.Inline(result)
	}
	// Once the server has the outcome, it replies to heartbeats that the lease is lost, and the
	// worker then cancels the context of the attempt. The loop ignores that cancel: it sends the
	// outcome until the server has replied to the outcome itself, and this reply may contain a
	// claim.
	var reply perdure.FinishReply
	err := a.w.called(a.span.in(a.live), "finish", func(ctx context.Context) (err error) {
		reply, err = a.deliver(ctx, f)
		return err
	})
	a.span.end(failureErr(failure))
	switch {
	case err == nil:
		a.discardStoredResult()
	case late(err):
		a.log().Info("the outcome of a task came too late")
	default:
		if perdure.IsCode(err, notStored) {
			// The worker sends nothing more for this attempt: the lease expires, and the server
			// treats the attempt as lost.
			a.w.Observer.notStored(true)
		}
		a.log().Error("the outcome of a task was not stored", "error", err)
	}
	if reply.Claim != nil {
		a.complete(reply.Claim, result)
		a.w.startRun(a.live, *reply.Claim)
	}
}

// complete adds the input and the result of this attempt's task to the claim c, which the reply to
// the end of the attempt contains. The server leaves both out if this worker has parked the
// goroutine of the execution.
func (a *attempt) complete(c *perdure.AgentClaim, result json.RawMessage) {
	for _, t := range c.Results {
		if !c.ContinuesParked || t == nil || t.ID != a.claim.Lease.TaskID {
			continue
		}
		t.Input, t.InputBlob = a.claim.Task.Input, a.claim.Task.InputBlob
		if t.Status == perdure.TaskCompleted {
			t.Result = result
		}
	}
}

// failureErr returns the failure as an error. For a nil failure, the error is nil too, and not an interface
// with a nil pointer.
func failureErr(failure *perdure.TaskError) error {
	if failure == nil {
		return nil
	}
	return failure
}

// deliver flushes the stream, uploads a large result, and sends the end of the attempt. If the server
// refuses the result for good, deliver ends the attempt with that refusal as its failure. If the stream
// cannot be flushed, deliver sends the outcome without the streamed blocks.
func (a *attempt) deliver(ctx context.Context, f perdure.TaskFinish) (perdure.FinishReply, error) {
	ends, err := a.stream.Flush(ctx)
	switch {
	case err == nil:
		f.Blocks = ends
	case late(err), ctx.Err() != nil:
		return perdure.FinishReply{}, err
	default:
		a.log().Error("what the task showed is not stored whole; its outcome is", "error", err)
	}
	owner := perdure.BlobOwner{ExecutionID: a.claim.Lease.ExecutionID, TaskLease: &a.claim.Lease}
	if err := a.w.upload(ctx, owner, &f.Result, a.persist); err != nil {
		if !a.refusedResult(ctx, f, err) {
			return perdure.FinishReply{}, err
		}
		f = withoutResult(f, err)
	}
	f.Parked, f.Retained = a.w.reserveFor(a.claim.Lease.ExecutionID)
	reply, err := a.finish(ctx, f)
	if perdure.IsCode(err, perdure.Conflict) && f.Blocks != nil {
		a.log().Error("the server has lost some of what the task showed; its outcome is stored without", "error", err)
		f.Blocks = nil
		reply, err = a.finish(ctx, f)
	}
	if a.refusedResult(ctx, f, err) {
		a.log().Error("the server refuses the result of a task, which fails", "error", err)
		reply, err = a.finish(ctx, withoutResult(f, err))
	}
	if f.Parked && reply.Claim == nil {
		a.w.agentSlots.release(1)
	}
	return reply, err
}

// reserveFor reserves an agent slot for the next claim of the execution, if the execution's
// goroutine is parked or running on this worker. The bool reports whether a slot was reserved. The
// *perdure.RetainedState describes the data that the goroutine already has, so that the server
// leaves them out of the claim.
func (w *Worker) reserveFor(execution uuid.UUID) (bool, *perdure.RetainedState) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.parked[execution]
	if r == nil {
		r = w.runs[execution]
	}
	if w.draining || !w.keeps(r) || w.agentSlots.try(1) == 0 {
		return false, nil
	}
	return true, r.kept
}

// giveBack releases the claim, so that another worker can claim the task. The parameter `started`
// says whether the code of the task has begun. If the server cannot be reached in time, the claim
// ends with its lease.
func (a *attempt) giveBack(started bool) {
	if a.live.Err() != nil {
		return // a worker that has stopped waiting for the server lets the lease expire
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(a.live), releaseTimeout)
	defer cancel()
	err := a.w.retry(ctx, func() error {
		return a.w.Dispatch.Release(ctx, perdure.Release{
			WorkerID: a.w.ID, Tasks: []perdure.TaskRelease{{Lease: a.claim.Lease, Started: started}},
		})
	})
	if err != nil {
		a.log().Warn("could not give a task back; its lease will run out", "error", err)
	}
}

// heard applies what the reply to a heartbeat says about this attempt. If the lease was renewed,
// the attempt continues with the lease clock `sent`, which began when the heartbeat was sent.
func (a *attempt) heard(b perdure.TaskHeartbeatReply, sent leaseClock) {
	switch {
	case b.Unknown:
		a.log().Warn("the server could not renew the lease; it runs on, and is asked for again")
	case b.Lost:
		a.cancel(agent.ErrLeaseLost)
	case b.CancelRequested:
		a.cancel(agent.ErrCancelled)
	default:
		a.mu.Lock()
		a.renew, a.acked = sent, a.reportedSigns
		a.mu.Unlock()
	}
}

func (a *attempt) renewed() leaseClock {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.renew
}

// beat returns the part of the next heartbeat that is about this attempt. If the task's code has
// called Heartbeat or Progress since the last call that the server has acknowledged, that part
// reports the call and the newest progress.
func (a *attempt) beat() perdure.TaskHeartbeat {
	a.mu.Lock()
	defer a.mu.Unlock()
	b := perdure.TaskHeartbeat{Lease: a.claim.Lease}
	if a.signs > a.acked {
		b.Alive, b.Progress = true, a.progress
	}
	a.reportedSigns = a.signs
	return b
}

// Task implements agent.TaskContext.
func (a *attempt) Task() *perdure.Task { return a.claim.Task }

// Workspace implements agent.TaskContext.
func (a *attempt) Workspace() string { return a.claim.Workspace }

// Execution implements agent.TaskContext.
func (a *attempt) Execution() (*perdure.Execution, error) {
	return a.w.paths.execution(a.claim.Lease.ExecutionID, func() (*perdure.Execution, error) {
		return a.w.Dispatch.Execution(a, a.claim.Lease.ExecutionID)
	})
}

// Path implements agent.TaskContext.
func (a *attempt) Path(leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return a.w.path(a, a.claim.Lease.ExecutionID, leaf)
}

// ContextPath implements agent.TaskContext.
func (a *attempt) ContextPath(leaf uuid.UUID) iter.Seq2[perdure.Entry, error] {
	return a.w.contextPath(a, a.claim.Lease.ExecutionID, leaf)
}

// Tasks implements agent.TaskContext.
func (a *attempt) Tasks(ids ...uuid.UUID) ([]*perdure.Task, error) {
	return a.w.Dispatch.Tasks(a, a.claim.Lease.ExecutionID, ids)
}

// Stream implements agent.TaskContext.
func (a *attempt) Stream() agent.Stream { return a.stream }

// Progress implements agent.TaskContext.
func (a *attempt) Progress(v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		a.log().Warn("a task's progress does not encode", "error", err)
		return
	}
	a.mu.Lock()
	a.progress = raw
	a.mu.Unlock()
	a.Heartbeat()
}

// Heartbeat implements agent.TaskContext.
func (a *attempt) Heartbeat() {
	a.mu.Lock()
	a.signs++
	a.mu.Unlock()
	if a.silence != nil && a.Err() == nil {
		a.silence.Reset(a.claim.Task.Options.HeartbeatTimeout)
	}
}
