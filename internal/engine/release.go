package engine

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// release gives claims back. A lease that is not held any more is not an error, because the worker
// does not want it.
func (e *Engine) release(ctx context.Context, org string, r perdure.Release) error {
	if len(r.Discarded) > 0 {
		e.parked.discarded(r.WorkerID, r.Discarded)
		e.Hints.Publish(notify.Recheck)
	}
	for _, a := range r.Agents {
		_, err := e.do(ctx, store.Command{
			Name: "release", Lane: store.LaneCommits, Org: org, Execution: a.Lease.ExecutionID, Needs: endNeeds,
			Decide: func(s *store.State) (*store.Changes, error) { return decideRelease(s, a) },
		})
		if err != nil {
			return err
		}
	}
	for _, t := range r.Tasks {
		_, err := e.do(ctx, store.Command{
			Name: "release task", Lane: store.LaneCommits, Org: org, Execution: t.Lease.ExecutionID,
			Needs: func(*perdure.Execution) store.Needs { return taskNeeds(t.Lease.TaskID) },
			Decide: func(s *store.State) (*store.Changes, error) {
				held := s.Tasks[t.Lease.TaskID]
				if !taskHeldBy(held, t.Lease) {
					return nil, nil
				}
				return decideTaskReturn(s, held, t.Started)
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func taskNeeds(id uuid.UUID) store.Needs {
	return store.Needs{Tasks: []uuid.UUID{id}, TaskBlocks: []uuid.UUID{id}, AttemptBlocks: true}
}

func decideRelease(s *store.State, r perdure.AgentRelease) (*store.Changes, error) {
	if !heldBy(s.Execution, r.Lease) {
		return nil, nil
	}
	d := begin(s)
	if r.Unfit != "" {
		return d.unfit(r.Unfit)
	}
	if r.Panic != "" {
		return d.panicked(r.Panic)
	}
	return d.giveBack(perdure.WokeReturned)
}

// giveBack sets a held execution to PENDING, or ends it if it is being cancelled.
func (d *draft) giveBack(why perdure.Woke) (*store.Changes, error) {
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

// closeAgentBlocks supersedes the agent's own open blocks, because the next worker of the execution
// writes their content again.
func (d *draft) closeAgentBlocks() error {
	for _, b := range sortedBlocks(d.s.Blocks) {
		if b.Key.TaskID != uuid.Nil {
			continue
		}
		if err := d.closeBlock(b, perdure.BlockSuperseded); err != nil {
			return err
		}
	}
	return nil
}

// decideTaskReturn takes an attempt back from its worker. An attempt that has not started does not
// count as a try; one that has started is lost.
func decideTaskReturn(s *store.State, t *perdure.Task, started bool) (*store.Changes, error) {
	d := begin(s)
	if started {
		if err := d.loseAttempt(t, "its worker shut down"); err != nil {
			return nil, err
		}
		return d.done(nil), nil
	}
	// The attempt number is a fence and is not reused. The count of tries does not include this
	// attempt.
	t.Uncounted++
	t.ClaimID = uuid.Nil
	if err := d.retry(t, 0, "returned"); err != nil {
		return nil, err
	}
	return d.done(nil), nil
}

// maxLost is the number of lost attempts after which a task can still run. One more fails it,
// because the task probably stops its workers.
const maxLost = 10

// loseAttempt decides about a task whose worker was lost during an attempt. Such an attempt does
// not count as a try.
func (d *draft) loseAttempt(t *perdure.Task, why string) error {
	t.Uncounted++
	t.Lost++
	t.ClaimID = uuid.Nil // a late outcome is refused
	var err error
	switch {
	case t.Options.OnLost == perdure.OnLostReport:
		t.Error = &perdure.TaskError{
			Code: "interrupted", Permanent: true,
			Message: "interrupted: " + why + "; it may or may not have taken effect",
		}
		d.takeBack(t, true)
		err = d.endTask(t, perdure.TaskInterrupted, perdure.EventTaskInterrupted, perdure.BlockSuperseded)
	case t.Lost > maxLost:
		t.Error = &perdure.TaskError{
			Code: "crash_loop", Permanent: true,
			Message: fmt.Sprintf("its worker was lost %d times in the middle of it", t.Lost),
		}
		d.takeBack(t, true)
		err = d.endTask(t, perdure.TaskFailed, perdure.EventTaskFailed, perdure.BlockSuperseded)
	default:
		err = d.retry(t, 0, "lost")
	}
	if err == nil && t.Status.Terminal() {
		d.wake(facts{tasks: map[uuid.UUID]perdure.TaskStatus{t.ID: t.Status}}, perdure.WokeTask)
	}
	return err
}

// returnEmbedded ends all leases of embedded workers of the process that owned the data directory
// before. That process has ended, because its lock is free.
func (e *Engine) returnEmbedded(ctx context.Context) error {
	for {
		decisions, err := e.do(ctx, store.Command{
			Name: "return embedded", Lane: store.LaneClaims, Frees: true, Pick: &store.Pick{Kind: store.PickEmbedded},
			Needs:  returnNeeds,
			Decide: decideReturnEmbedded,
		})
		if err != nil || len(decisions) == 0 {
			return err
		}
	}
}

func returnNeeds(x *perdure.Execution) store.Needs {
	n := endNeeds(x)
	n.HeldTasks, n.AttemptBlocks = true, true
	return n
}

func decideReturnEmbedded(s *store.State) (*store.Changes, error) {
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
		return d.giveBack(perdure.WokeLost)
	}
	return d.done(nil), nil
}
