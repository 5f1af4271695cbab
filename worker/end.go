package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// end commits the result of the agent's function: the output `out`, or `failure`. It reports
// whether the execution has ended. If a signal is pending that the definition lists in Unless, the
// execution does not end, and the function is called again. If the server refuses the result, end
// fails the execution instead.
func (r *run) end(out json.RawMessage, failure error) (bool, error) {
	if failure == nil {
		failure = r.misfit(out)
	}
	o := perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline(out), Unless: r.def.Unless}
	switch {
	case r.Err() != nil:
		o = perdure.Outcome{Kind: perdure.OutcomeCancelled}
		if failure == nil {
			o = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline(out)}
		}
	case failure != nil:
		o = perdure.Outcome{Kind: perdure.OutcomeFail, Error: failureOf(failure)}
	}
	// If a heartbeat is sent at the same time as the commit that ends the execution, the server
	// replies that the lease is lost. That reply must not end the run. The same applies to a commit
	// that suspends the execution.
	r.setParking(true)
	defer r.setParking(false)
	reply, err := r.commit(o)
	if err != nil && !r.over() {
		// The server has refused the result together with the pending work. The run now ends without that
		// work, and a function that had completed fails with the error.
		if o.Kind == perdure.OutcomeComplete {
			o = perdure.Outcome{Kind: perdure.OutcomeFail, Error: failureOf(err)}
		}
		reply, err = r.commit(o)
	}
	if err != nil {
		r.log().Error("the end of an execution was not stored", "error", err)
		return false, err
	}
	if reply.Ended == "" && o.Kind == perdure.OutcomeComplete && len(r.unread) > 0 {
		reply, err = r.commit(perdure.Outcome{Kind: perdure.OutcomeFail, Error: r.unreadFailure()})
	}
	if err != nil {
		return false, err
	}
	if reply.Ended == "" {
		r.unread = namesOf(reply.Signals)
		return false, nil
	}
	for _, fn := range r.onEnd {
		fn(reply.Ended)
	}
	return true, nil
}

// unreadFailure returns the failure of a function that was called again because of pending signals
// that its definition lists in Unless. The function has returned without taking any of these
// signals. Without this failure, the function would be called for ever, or the signals would be
// lost.
func (r *run) unreadFailure() *perdure.TaskError {
	return &perdure.TaskError{Code: "signals_unread", Message: fmt.Sprintf(
		"the agent returned without taking the pending signals %q, which its definition lists in Unless; take them with WaitSignal or DrainSignals, or leave them out of Unless", r.unread)}
}

func namesOf(signals []perdure.Signal) []string {
	names := []string{}
	for _, s := range signals {
		if !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

func failureOf(err error) *perdure.TaskError {
	var failed *perdure.TaskError
	if errors.As(err, &failed) {
		return failed
	}
	code := perdure.CodeOf(err)
	if code == perdure.Internal {
		code = "agent_failed"
	}
	message := err.Error()
	var coded *perdure.Error
	if errors.As(err, &coded) {
		message = coded.Message
	}
	return &perdure.TaskError{Code: code, Message: message}
}

// finish cleans up after a run. The goroutine of the run calls it last, however it ends.
func (r *run) finish() {
	defer r.w.goroutines.Done()
	defer r.endSpan()
	defer r.w.ended(r)
	if r.holding && errors.Is(context.Cause(r.Context), errShutdown) {
		r.release(perdure.AgentRelease{})
	}
	if cause := context.Cause(r.Context); errors.Is(cause, agent.ErrLeaseLost) || perdure.IsCode(cause, perdure.LeaseLost) {
		r.w.Observer.leaseLost(false)
	}
	r.cancel(agent.ErrDiscarded)
	r.w.streams.Close(r.stream)
	switch late, overtaken := r.w.untrack(r); {
	case late == nil:
	case overtaken: // the lease has ended, and a run with a newer claim continues the execution
		r.w.agentSlots.release(1)
		r.w.work.Done()
	default:
		r.w.enter(r.live, *late)
	}
	if r.holding {
		r.w.agentSlots.release(1)
		r.w.work.Done()
	}
}

// release releases the claim of the run. The caller sets the reason in the argument a, and release
// adds the lease. If the server cannot be reached in time, the claim ends with its lease.
func (r *run) release(a perdure.AgentRelease) {
	if r.live.Err() != nil {
		return // a worker that has stopped waiting for the server lets the lease expire
	}
	a.Lease = r.claim.Lease
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context), releaseTimeout)
	defer cancel()
	err := r.w.retry(ctx, func() error {
		return r.w.Dispatch.Release(ctx, perdure.Release{
			WorkerID: r.w.ID, Agents: []perdure.AgentRelease{a},
		})
	})
	if err != nil {
		r.log().Warn("could not give an execution back; its lease will run out", "error", err)
	}
}

// releaseTimeout is the maximum time that a worker spends on releasing a claim.
const releaseTimeout = 5 * time.Second
