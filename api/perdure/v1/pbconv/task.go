package pbconv

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// TaskToProto converts a task to its message. Nil becomes a message without an id.
func TaskToProto(t *perdure.Task) *perdurev1.Task {
	if t == nil {
		return &perdurev1.Task{}
	}
	return &perdurev1.Task{
		Id: UUIDToProto(t.ID), AgentExecutionId: UUIDToProto(t.ExecutionID),
		Kind: t.Kind, Status: taskStatuses.to[t.Status], Queue: t.Queue,
		Attempt: int64(t.Attempt), MaxAttempts: int64(t.MaxAttempts),
		Input: ContentToProto(t.Input, t.InputBlob), Result: ContentToProto(t.Result, t.ResultBlob),
		Error: taskErrorToProto(t.Error), Progress: t.Progress, WorkerId: idPtrToProto(t.WorkerID),
		CreatedAt: timeToProto(t.CreatedAt), StartedAt: timePtrToProto(t.StartedAt), CompletedAt: timePtrToProto(t.CompletedAt),
		Org: t.Org, Key: t.Key, InputHash: hashToProto(t.InputHash), Options: taskOptionsToProto(t.Options),
		ClaimId: UUIDToProto(t.ClaimID), LeaseUntil: timeToProto(t.LeaseUntil), NotBefore: timeToProto(t.NotBefore),
		Step: t.Step, Place: placeToProto(t.Place), Embedded: t.Embedded,
		Uncounted: int64(t.Uncounted), Lost: int64(t.Lost), AttemptAt: timeToProto(t.AttemptAt), SignAt: timeToProto(t.SignAt),
	}
}

// TaskFromProto converts a task from its message. A message without an id becomes nil. Errors:
// invalid_argument.
func TaskFromProto(m *perdurev1.Task) (*perdure.Task, error) { return decode(m, (*decoder).task) }

func (d *decoder) task(m *perdurev1.Task) *perdure.Task {
	id := d.id("task.id", m.GetId())
	if id == uuid.Nil {
		return nil
	}
	t := &perdure.Task{
		ID: id, ExecutionID: d.id("task.agent_execution_id", m.GetAgentExecutionId()),
		Kind: m.GetKind(), Status: read(d, taskStatuses, "task.status", m.GetStatus()), Queue: m.GetQueue(),
		Attempt: int(m.GetAttempt()), MaxAttempts: int(m.GetMaxAttempts()),
		Error: d.taskError(m.GetError()), Progress: raw(m.Progress), WorkerID: d.idPtr("task.worker_id", m.WorkerId),
		CreatedAt:   d.time("task.created_at", m.GetCreatedAt()),
		StartedAt:   d.timePtr("task.started_at", m.GetStartedAt()),
		CompletedAt: d.timePtr("task.completed_at", m.GetCompletedAt()),
		Org:         m.GetOrg(), Key: m.GetKey(), InputHash: d.hash("task.input_hash", m.GetInputHash()),
		Options: d.taskOptions(m.GetOptions()), ClaimID: d.id("task.claim_id", m.GetClaimId()),
		LeaseUntil: d.time("task.lease_until", m.GetLeaseUntil()), NotBefore: d.time("task.not_before", m.GetNotBefore()),
		Step: m.GetStep(), Place: PlaceFromProto(m.GetPlace()), Embedded: m.GetEmbedded(),
		Uncounted: int(m.GetUncounted()), Lost: int(m.GetLost()),
		AttemptAt: d.time("task.attempt_at", m.GetAttemptAt()), SignAt: d.time("task.sign_at", m.GetSignAt()),
	}
	t.Input, t.InputBlob = d.content("task.input", m.GetInput())
	t.Result, t.ResultBlob = d.content("task.result", m.GetResult())
	return t
}

func taskOptionsToProto(o perdure.TaskOptions) *perdurev1.TaskOptions {
	if o == (perdure.TaskOptions{}) {
		return nil
	}
	return &perdurev1.TaskOptions{
		Queue: o.Queue, Instance: o.Instance, Key: o.Key, MaxAttempts: int64(o.MaxAttempts),
		BackoffBase: durationToProto(o.BackoffBase), BackoffMax: durationToProto(o.BackoffMax),
		ScheduleToClose:  durationToProto(o.ScheduleToClose),
		AttemptTimeout:   durationToProto(o.AttemptTimeout),
		HeartbeatTimeout: durationToProto(o.HeartbeatTimeout),
		Priority:         intPtrToProto(o.Priority), OnLost: onLosts.to[o.OnLost],
		ConcurrencyKey: o.ConcurrencyKey, ConcurrencyLimit: int64(o.ConcurrencyLimit), KeyTtl: durationToProto(o.KeyTTL),
		ReadsContext: o.ReadsContext, Compacts: string(o.Compacts), Net: o.Net, Requires: o.Requires,
	}
}

// TaskOptionsFromProto converts the options of a task from their message. Errors: invalid_argument.
func TaskOptionsFromProto(m *perdurev1.TaskOptions) (perdure.TaskOptions, error) {
	return decode(m, (*decoder).taskOptions)
}

func (d *decoder) taskOptions(m *perdurev1.TaskOptions) perdure.TaskOptions {
	if m == nil {
		return perdure.TaskOptions{}
	}
	return perdure.TaskOptions{
		Queue: m.GetQueue(), Instance: m.GetInstance(), Key: m.GetKey(), MaxAttempts: int(m.GetMaxAttempts()),
		BackoffBase:      d.duration("options.backoff_base", m.GetBackoffBase()),
		BackoffMax:       d.duration("options.backoff_max", m.GetBackoffMax()),
		ScheduleToClose:  d.duration("options.schedule_to_close", m.GetScheduleToClose()),
		AttemptTimeout:   d.duration("options.attempt_timeout", m.GetAttemptTimeout()),
		HeartbeatTimeout: d.duration("options.heartbeat_timeout", m.GetHeartbeatTimeout()),
		Priority:         intPtr(m.Priority), OnLost: read(d, onLosts, "options.on_lost", m.GetOnLost()),
		ConcurrencyKey: m.GetConcurrencyKey(), ConcurrencyLimit: int(m.GetConcurrencyLimit()),
		KeyTTL: d.duration("options.key_ttl", m.GetKeyTtl()), ReadsContext: m.GetReadsContext(),
		Compacts: perdure.CompactionReason(m.GetCompacts()),
		Net:      m.GetNet(), Requires: m.GetRequires(),
	}
}

func taskErrorToProto(e *perdure.TaskError) *perdurev1.TaskError {
	if e == nil {
		return nil
	}
	m := &perdurev1.TaskError{Message: text(e.Message), Permanent: e.Permanent, RetryAfter: durationToProto(e.RetryAfter)}
	m.Code, m.OtherCode = codeToProto(e.Code)
	return m
}

// TaskErrorFromProto converts the error of a task from its message; nil is converted to nil. Errors:
// invalid_argument.
func TaskErrorFromProto(m *perdurev1.TaskError) (*perdure.TaskError, error) {
	return decode(m, (*decoder).taskError)
}

func (d *decoder) taskError(m *perdurev1.TaskError) *perdure.TaskError {
	if m == nil {
		return nil
	}
	return &perdure.TaskError{
		Code: d.code("error.code", m.GetCode(), m.GetOtherCode()), Message: m.GetMessage(),
		Permanent: m.GetPermanent(), RetryAfter: d.duration("error.retry_after", m.GetRetryAfter()),
	}
}
