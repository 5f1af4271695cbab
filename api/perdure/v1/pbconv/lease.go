package pbconv

import (
	"math"

	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// LeaseToProto converts the lease of an execution to its message.
func LeaseToProto(l perdure.Lease) *perdurev1.Lease {
	return &perdurev1.Lease{ExecutionId: UUIDToProto(l.ExecutionID), Fence: l.Fence, ClaimId: UUIDToProto(l.ClaimID)}
}

// LeaseFromProto converts the lease of an execution from its message; nil becomes the zero lease.
// Errors: invalid_argument.
func LeaseFromProto(m *perdurev1.Lease) (perdure.Lease, error) { return decode(m, (*decoder).lease) }

func (d *decoder) lease(m *perdurev1.Lease) perdure.Lease {
	return perdure.Lease{
		ExecutionID: d.id("lease.execution_id", m.GetExecutionId()), Fence: m.GetFence(),
		ClaimID: d.id("lease.claim_id", m.GetClaimId()),
	}
}

func taskLeaseToProto(l perdure.TaskLease) *perdurev1.TaskLease {
	return &perdurev1.TaskLease{
		ExecutionId: UUIDToProto(l.ExecutionID), TaskId: UUIDToProto(l.TaskID),
		Attempt: int64(l.Attempt), ClaimId: UUIDToProto(l.ClaimID),
	}
}

func (d *decoder) taskLease(m *perdurev1.TaskLease) perdure.TaskLease {
	return perdure.TaskLease{
		ExecutionID: d.id("lease.execution_id", m.GetExecutionId()), TaskID: d.id("lease.task_id", m.GetTaskId()),
		Attempt: int(d.attempt("lease.attempt", m.GetAttempt())), ClaimID: d.id("lease.claim_id", m.GetClaimId()),
	}
}

// attempt returns n, which is the number of an attempt or a fence. If n is negative or does not fit
// into its 32-bit database column, attempt records the error invalid_argument in d; the error names the
// field.
func (d *decoder) attempt(field string, n int64) int64 {
	if n < 0 || n > math.MaxInt32 {
		d.fail(field, "must be from 0 to %d", math.MaxInt32)
	}
	return n
}

func leasePtrToProto(l *perdure.Lease) *perdurev1.Lease {
	if l == nil {
		return nil
	}
	return LeaseToProto(*l)
}

func (d *decoder) leasePtr(m *perdurev1.Lease) *perdure.Lease {
	if m == nil {
		return nil
	}
	l := d.lease(m)
	return &l
}

func taskLeasePtrToProto(l *perdure.TaskLease) *perdurev1.TaskLease {
	if l == nil {
		return nil
	}
	return taskLeaseToProto(*l)
}

func (d *decoder) taskLeasePtr(m *perdurev1.TaskLease) *perdure.TaskLease {
	if m == nil {
		return nil
	}
	l := d.taskLease(m)
	return &l
}

// AgentClaimToProto converts the claim of an execution to its message; nil is converted to nil.
func AgentClaimToProto(c *perdure.AgentClaim) *perdurev1.AgentClaim {
	if c == nil {
		return nil
	}
	return &perdurev1.AgentClaim{
		Lease: LeaseToProto(c.Lease), Execution: ExecutionToProto(c.Execution),
		LeaseFor: durationToProto(c.LeaseFor), Woke: wokes.to[c.WakeReason],
		Checkpoint: CheckpointToProto(c.Checkpoint), LastCommit: commitNumberToProto(c.LastCommit),
		Results: each(c.Results, TaskToProto), Signals: each(c.Signals, SignalToProto),
		MoreSignals: c.MoreSignals, Again: each(c.Again, SignalToProto),
		SignalsTo: c.SignalsTo, Kept: c.ContinuesParked, Waited: durationToProto(c.Waited),
		Ended: endedPtrToProto(c.Ended), Questions: each(c.Questions, QuestionToProto),
	}
}

// AgentClaimFromProto converts the claim of an execution from its message; nil is converted to nil.
// Errors: invalid_argument.
func AgentClaimFromProto(m *perdurev1.AgentClaim) (*perdure.AgentClaim, error) {
	return decode(m, (*decoder).agentClaim)
}

func (d *decoder) agentClaim(m *perdurev1.AgentClaim) *perdure.AgentClaim {
	if m == nil {
		return nil
	}
	return &perdure.AgentClaim{
		Lease: d.lease(m.GetLease()), Execution: d.execution(m.GetExecution()),
		LeaseFor: d.duration("claim.lease_for", m.GetLeaseFor()), WakeReason: read(d, wokes, "claim.woke", m.GetWoke()),
		Checkpoint: d.checkpoint(m.GetCheckpoint()), LastCommit: d.commitNumber("claim.last_commit.claim_id", m.GetLastCommit()),
		Results: each(m.GetResults(), d.task), Signals: each(m.GetSignals(), d.signal),
		MoreSignals: m.GetMoreSignals(), Again: each(m.GetAgain(), d.signal),
		SignalsTo: m.GetSignalsTo(), ContinuesParked: m.GetKept(), Waited: d.duration("claim.waited", m.GetWaited()),
		Ended: d.endedPtr(m.GetEnded()), Questions: each(m.GetQuestions(), d.question),
	}
}

func keptToProto(k *perdure.RetainedState) *perdurev1.Kept {
	if k == nil {
		return nil
	}
	return &perdurev1.Kept{WorkerId: UUIDToProto(k.WorkerID), At: commitNumberToProto(k.At), Seen: k.Seen}
}

func (d *decoder) kept(m *perdurev1.Kept) *perdure.RetainedState {
	if m == nil {
		return nil
	}
	return &perdure.RetainedState{WorkerID: d.id("kept.worker_id", m.GetWorkerId()), At: d.commitNumber("kept.at.claim_id", m.GetAt()), Seen: m.GetSeen()}
}

// TaskClaimToProto converts a claimed attempt to its message.
func TaskClaimToProto(c perdure.TaskClaim) *perdurev1.TaskClaim {
	m := &perdurev1.TaskClaim{
		Lease: taskLeaseToProto(c.Lease), LeaseFor: durationToProto(c.LeaseFor),
		Workspace: c.Workspace, Traceparent: c.Traceparent, Waited: durationToProto(c.Waited),
	}
	if c.Task != nil {
		m.Task = TaskToProto(c.Task)
	}
	return m
}

// TaskClaimFromProto converts a claimed attempt from its message. Errors: invalid_argument.
func TaskClaimFromProto(m *perdurev1.TaskClaim) (perdure.TaskClaim, error) {
	return decode(m, (*decoder).taskClaim)
}

func (d *decoder) taskClaim(m *perdurev1.TaskClaim) perdure.TaskClaim {
	return perdure.TaskClaim{
		Lease: d.taskLease(m.GetLease()), LeaseFor: d.duration("claim.lease_for", m.GetLeaseFor()),
		Task: d.task(m.GetTask()), Workspace: m.GetWorkspace(), Traceparent: m.GetTraceparent(), Waited: d.duration("claim.waited", m.GetWaited()),
	}
}

// TaskLeaseFromProto converts the lease of an attempt from its message; nil becomes the zero lease.
// Errors: invalid_argument.
func TaskLeaseFromProto(m *perdurev1.TaskLease) (perdure.TaskLease, error) {
	return decode(m, (*decoder).taskLease)
}
