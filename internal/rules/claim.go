package rules

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// AloneWait is the result of a claim that was not made, because the execution must run alone on its
// worker and the worker has other executions.
type AloneWait struct {
	Execution uuid.UUID
	Since     perdure.Time
}

// Claim claims an execution, which the engine has selected, for the worker of a poll. The command's
// result is the execution's row after the claim. If the execution must run alone on its worker and
// the worker has other executions, Claim claims nothing, and the result is an AloneWait. The
// claim's id is derived from the request id.
func Claim(s *store.State, cfg Config, p perdure.Poll, request uuid.UUID) (*store.Changes, error) {
	x := s.Execution
	if x == nil || x.Status != perdure.StatusPending || !x.NotBefore.Reached(s.Now) || s.Holds.Alone || !mayClaim(x, p.WorkerID, p.Local) ||
		p.Features.Lacks(x.NeedsFeatures) != 0 {
		return nil, nil
	}
	if mustBeAlone(x) && s.Holds.Executions {
		return Answer(AloneWait{Execution: x.ID, Since: later(x.ReadyAt, x.NotBefore)}), nil
	}
	d := begin(s)
	d.settle(p.WorkerID)
	d.claimFor(p.WorkerID, derive(request, x.ID.String()), p.Embedded, s.Now.Add(cfg.Lease))
	changes := d.done(nil)
	claimed := *d.x
	changes.Answer.(*Decision).Value = &claimed
	return changes, nil
}

// ClaimedTask is a claim of a task. It also contains what the task's worker needs to know about the
// execution.
type ClaimedTask struct {
	Lease       perdure.TaskLease
	Workspace   string
	Traceparent string
	// Task is set if the commit that created the task has also claimed it for the same worker. It
	// then equals the stored row. In the reply to a repeated commit it is nil.
	Task *perdure.Task `json:"-"`
}

// ClaimTask claims a task, which the store has selected, for the worker of a poll. The command's
// result is a ClaimedTask. The claim's id is derived from the request id.
func ClaimTask(s *store.State, cfg Config, p perdure.Poll, request uuid.UUID) (*store.Changes, error) {
	if s.PickedTask == nil || s.Execution == nil || s.Execution.Status.Terminal() {
		return nil, nil
	}
	t := s.Tasks[*s.PickedTask]
	if t == nil || t.Status != perdure.TaskPending || !t.NotBefore.Reached(s.Now) || !cfg.fits(s, t) ||
		p.Features.Lacks(t.NeedsFeatures) != 0 {
		return nil, nil
	}
	d := begin(s)
	return d.done(d.claimTask(t, p.WorkerID, derive(request, t.ID.String()), p.Embedded, s.Now.Add(cfg.Lease))), nil
}

// claimTask assigns a pending task to a worker as its next attempt.
func (d *draft) claimTask(t *perdure.Task, worker, claim uuid.UUID, embedded bool, lease perdure.Time) ClaimedTask {
	waited := d.s.Now.Sub(later(t.CreatedAt, t.NotBefore).Time)
	d.observe(Observation{Kind: ObservedClaim, Work: WorkTask, Queue: t.Queue, Waited: waited})
	t.Status, t.WorkerID, t.ClaimID, t.LeaseUntil = perdure.TaskRunning, &worker, claim, lease
	t.Embedded = embedded
	t.Attempt++
	t.Progress = nil
	t.AttemptAt, t.SignAt = d.s.Now, d.s.Now
	if t.StartedAt == nil {
		now := d.s.Now
		t.StartedAt = &now
	}
	d.task(t)
	d.taskEvent(perdure.EventTaskStarted, t, nil)
	return ClaimedTask{
		Lease:     perdure.TaskLease{ExecutionID: d.x.ID, TaskID: t.ID, Attempt: t.Attempt, ClaimID: claim},
		Workspace: d.x.Workspace, Traceparent: d.x.Traceparent,
	}
}

// Handover reserves a slot of a waiting poll for an execution that a command is about to wake. The
// command can then also claim the execution for the poll's worker.
type Handover struct {
	Poll  perdure.Poll
	Claim uuid.UUID // id of the claim, if it is made
	Kept  perdure.RetainedState
	// Waited is how long the poll had waited when its slot was reserved.
	Waited time.Duration
	Whole  bool // Kept is not completely known, so the reply must contain all data of the execution
}

// needs adds to n the rows that handOver reads. For a nil Handover it adds none.
func (h *Handover) needs(n *store.Needs) {
	if h != nil {
		n.Worker = &h.Poll.WorkerID
	}
}

// handOver claims the woken execution for the worker of the poll, if the poll may claim it. The
// conditions are those of Claim. In addition, the worker must still keep the execution's goroutine,
// and that goroutine must have made the execution's last commit. A nil Handover claims nothing.
func (d *draft) handOver(h *Handover, signal *perdure.Signal) {
	if h == nil {
		return
	}
	p := h.Poll
	if !LastCommit(d.x).Same(h.Kept.At) || d.s.Holds.Alone || mustBeAlone(d.x) || !mayClaim(d.x, p.WorkerID, p.Local) ||
		!slices.Contains(p.Queues, d.x.Queue) || !slices.Contains(p.Kinds, d.x.Kind) ||
		p.Features.Lacks(d.x.NeedsFeatures) != 0 {
		return
	}
	d.claimFor(p.WorkerID, h.Claim, p.Embedded, d.s.Now.Add(d.cfg.Lease))
	d.woken = &Woken{Signal: signal, Waited: h.Waited}
	if !h.Whole {
		d.woken.Kept = &h.Kept
	}
}
