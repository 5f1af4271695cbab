package rules

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// TaskReturnNeeds says which rows the engine must read into the store.State that it passes to ReleaseTask.
func TaskReturnNeeds(id uuid.UUID) store.Needs {
	return store.Needs{Tasks: []uuid.UUID{id}, TaskBlocks: []uuid.UUID{id}, AttemptBlocks: true}
}

// Release releases a claim of an execution. If the worker reports a panic, or that it cannot run
// the execution (unfit), the claim has ended badly (see crash_guard.go). If the lease is not valid,
// nothing changes.
func Release(s *store.State, r perdure.AgentRelease) (*store.Changes, error) {
	if !HeldBy(s.Execution, r.Lease) {
		return nil, nil
	}
	d := begin(s)
	if r.Unfit != "" {
		return d.unfit(r.Unfit)
	}
	if r.Panic != "" {
		return d.panicked(r.Panic)
	}
	return d.giveBack(perdure.WakeReturned)
}

// giveBack ends the claim of an execution without an outcome: the execution becomes PENDING or, if
// it was CANCELLING, CANCELLED.
func (d *draft) giveBack(why perdure.WakeReason) (*store.Changes, error) {
	if d.x.Status == perdure.StatusCancelling {
		if err := d.end(ending{status: perdure.StatusCancelled}); err != nil {
			return nil, err
		}
		return d.done(nil), nil
	}
	if err := d.closeAgentBlocks(); err != nil {
		return nil, err
	}
	d.pend(why)
	return d.done(nil), nil
}

func (d *draft) fail(code perdure.Code, message string) (*store.Changes, error) {
	err := d.end(ending{status: perdure.StatusFailed, err: &perdure.TaskError{Code: code, Message: message}})
	if err != nil {
		return nil, err
	}
	return d.done(nil), nil
}

// ReleaseTask ends an attempt without a result. If the attempt's code has started, the attempt
// counts as lost. Otherwise it does not count for the retry policy. If the lease is not valid,
// nothing changes.
func ReleaseTask(s *store.State, r perdure.TaskRelease) (*store.Changes, error) {
	t := s.Tasks[r.Lease.TaskID]
	if !TaskHeldBy(t, r.Lease) {
		return nil, nil
	}
	d := begin(s)
	if r.Started {
		if err := d.loseAttempt(t, "its worker shut down"); err != nil {
			return nil, err
		}
		return d.done(nil), nil
	}
	// The retry policy does not count this attempt. Its number is not used again, because attempt
	// numbers are fences.
	t.Uncounted++
	t.ClaimID = uuid.Nil
	if err := d.retry(t, 0, "returned"); err != nil {
		return nil, err
	}
	return d.done(nil), nil
}

// EmbeddedNeeds says which rows the engine must read into the store.State that it passes to ReturnEmbedded.
func EmbeddedNeeds(x *perdure.Execution) store.Needs {
	n := EndNeeds(x)
	n.HeldTasks, n.AttemptBlocks = true, true
	return n
}

// ReturnEmbedded ends the leases of the workers that ran inside a server process that has ended.
func ReturnEmbedded(s *store.State) (*store.Changes, error) {
	if s.Execution == nil || s.Execution.Status.Terminal() {
		return nil, nil
	}
	d := begin(s)
	for _, t := range sortedTasks(s.Tasks) {
		if t.Status == perdure.TaskRunning && t.Embedded {
			d.lostLease(WorkTask, t.Queue)
			if err := d.loseAttempt(t, "the process that ran it ended"); err != nil {
				return nil, err
			}
		}
	}
	if s.Execution.Status.Held() && s.Execution.Embedded {
		d.lostLease(WorkExecution, s.Execution.Queue)
		return d.giveBack(perdure.WakeLost)
	}
	return d.done(nil), nil
}
