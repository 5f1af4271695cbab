package rules

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// CheckHeld returns nil if the lease is valid for the execution. Error: lease_lost.
func CheckHeld(x *perdure.Execution, l perdure.Lease) error {
	if !HeldBy(x, l) {
		return leaseLost(l.ExecutionID)
	}
	return nil
}

// HeldBy reports whether the lease is valid: the execution is claimed, and the fence and the claim
// id are those of the lease.
func HeldBy(x *perdure.Execution, l perdure.Lease) bool {
	return x != nil && x.Status.Held() && x.Fence == l.Fence && x.ClaimID == l.ClaimID
}

// leaseLost returns the error of a request with a lease that has ended or that another claim has
// replaced.
func leaseLost(x uuid.UUID) error {
	return perdure.Errorf(perdure.LeaseLost, "the lease on execution %s is over", x)
}

// dropLease ends the lease of the execution. It does not change the fence. It sets the claim id to
// uuid.Nil, so that further requests of the former holder are refused.
func (d *draft) dropLease() {
	if d.x.WorkerID != nil && mustBeAlone(d.x) {
		d.hint(Hint{Kind: HintRecheck}) // the worker may claim other executions again
	}
	d.x.WorkerID = nil
	d.x.ClaimID = uuid.Nil
	d.x.LeaseUntil = perdure.Time{}
	d.x.Embedded = false
}

// tellHolder adds a hint for the worker that has claimed the execution, so that the worker sends a
// heartbeat. The reply to the heartbeat says what has changed. tellHolder must be called before the
// lease is dropped.
func (d *draft) tellHolder() { d.tellWorker(d.x.WorkerID) }

// tellTaskHolder is like tellHolder for the worker that runs the task. It must be called before the
// task's status changes.
func (d *draft) tellTaskHolder(t *perdure.Task) {
	if t.Status == perdure.TaskRunning {
		d.tellWorker(t.WorkerID)
	}
}

// tellWorker adds a hint for a worker. It adds only one, because the reply to one heartbeat covers
// all claims of the worker.
func (d *draft) tellWorker(worker *uuid.UUID) {
	if worker == nil {
		return
	}
	if h := (Hint{Kind: HintLeases, Org: d.x.Org, Worker: *worker}); !slices.Contains(d.hints, h) {
		d.hint(h)
	}
}

// TaskHeldBy reports whether the lease is valid: the task is running, and the attempt and the claim
// id are those of the lease.
func TaskHeldBy(t *perdure.Task, l perdure.TaskLease) bool {
	return t != nil && t.Status == perdure.TaskRunning && t.Attempt == l.Attempt && t.ClaimID == l.ClaimID
}

func taskLeaseLost(id uuid.UUID) error {
	return perdure.Errorf(perdure.LeaseLost, "the lease on task %s is over", id)
}

// RenewNeeds says which rows the engine must read into the store.State that it passes to RenewLease.
func RenewNeeds(*perdure.Execution) store.Needs { return store.Needs{Patterns: []string{"**"}} }

// RenewLease renews a lease on an execution. The command's result is a perdure.AgentHeartbeatReply.
func RenewLease(s *store.State, cfg Config, lease perdure.Lease) (*store.Changes, error) {
	if !HeldBy(s.Execution, lease) {
		return Answer(perdure.AgentHeartbeatReply{Lost: true}), nil
	}
	s.Execution.LeaseUntil = s.Now.Add(cfg.Lease)
	return &store.Changes{Execution: s.Execution, Answer: &Decision{Value: perdure.AgentHeartbeatReply{
		CancelRequested: s.Execution.Status == perdure.StatusCancelling,
		SignalsPending:  len(s.Pending) > 0,
	}}}, nil
}

// RenewTask renews a lease on a task. It also records the progress that the task's code has
// reported, and the time at which the code last showed that it is alive. The command's result is a
// perdure.TaskHeartbeatReply.
func RenewTask(s *store.State, cfg Config, beat perdure.TaskHeartbeat) (*store.Changes, error) {
	t := s.Tasks[beat.Lease.TaskID]
	if !TaskHeldBy(t, beat.Lease) {
		return Answer(perdure.TaskHeartbeatReply{Lost: true, CancelRequested: true}), nil
	}
	t.LeaseUntil = s.Now.Add(cfg.Lease)
	if beat.Progress != nil && s.Execution.PersistenceMode != perdure.Local {
		t.Progress = beat.Progress
	}
	if beat.Alive || beat.Progress != nil {
		t.SignAt = s.Now
	}
	cancelling := s.Execution.Status == perdure.StatusCancelling
	return &store.Changes{
		Tasks:  []*perdure.Task{t},
		Answer: &Decision{Value: perdure.TaskHeartbeatReply{CancelRequested: cancelling}},
	}, nil
}
