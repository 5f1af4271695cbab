package pbconv

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// CommitToProto converts a commit to its message.
func CommitToProto(c perdure.Commit) *perdurev1.CommitRequest {
	return &perdurev1.CommitRequest{
		Lease: LeaseToProto(c.Lease), Number: c.Number,
		Entries: each(c.Entries, newEntryToProto), Tasks: each(c.Tasks, newTaskToProto),
		Steps: each(c.Steps, stepToProto), Take: c.Take, Checkpoint: newCheckpointToProto(c.Checkpoint),
		Events: each(c.Events, newEventToProto), CancelTasks: each(c.CancelTask, UUIDToProto), StopTasks: each(c.StopTask, UUIDToProto),
		Blocks: each(c.Blocks, BlockEndToProto), Outcome: outcomeToProto(c.Outcome),
		Eager: eagerToProto(c.Offer), Place: placeToProto(c.Place),
		Chose: each(c.WaitChoices, choiceToProto), Keeps: keptToProto(c.Retained),
		Questions: each(c.Questions, newQuestionToProto), WithdrawQuestions: each(c.Withdraw, UUIDToProto),
		Decisions: each(c.Decisions, storedDecisionToProto),
	}
}

// CommitFromProto converts a commit from its message. Errors: invalid_argument.
func CommitFromProto(m *perdurev1.CommitRequest) (perdure.Commit, error) {
	return decode(m, func(d *decoder, m *perdurev1.CommitRequest) perdure.Commit {
		return perdure.Commit{
			Lease: d.lease(m.GetLease()), Number: m.GetNumber(),
			Entries: each(m.GetEntries(), d.newEntry), Tasks: each(m.GetTasks(), d.newTask),
			Steps: each(m.GetSteps(), d.step), Take: m.GetTake(), Checkpoint: d.newCheckpoint(m.GetCheckpoint()),
			Events: each(m.GetEvents(), d.newEvent), CancelTask: d.ids("cancel_tasks", m.GetCancelTasks()), StopTask: d.ids("stop_tasks", m.GetStopTasks()),
			Blocks: each(m.GetBlocks(), d.blockEnd), Outcome: d.outcome(m.GetOutcome()),
			Offer: d.eager(m.GetEager()), Place: PlaceFromProto(m.GetPlace()),
			WaitChoices: each(m.GetChose(), choiceFromProto), Retained: d.kept(m.GetKeeps()),
			Questions: each(m.GetQuestions(), d.newQuestion), Withdraw: d.ids("withdraw_questions", m.GetWithdrawQuestions()),
			Decisions: each(m.GetDecisions(), d.storedDecision),
		}
	})
}

func newTaskToProto(t perdure.NewTask) *perdurev1.NewTask {
	return &perdurev1.NewTask{
		Kind: t.Kind, Input: PayloadToProto(t.Input), InputHash: hashToProto(t.InputHash), Key: t.Key,
		Options: taskOptionsToProto(t.Options), Place: placeToProto(t.Place), Clearance: clearanceToProto(t.Clearance),
	}
}

func (d *decoder) newTask(m *perdurev1.NewTask) perdure.NewTask {
	return perdure.NewTask{
		Kind: m.GetKind(), Input: d.payload("tasks.input", m.GetInput()),
		InputHash: d.hash("tasks.input_hash", m.GetInputHash()), Key: m.GetKey(),
		Options: d.taskOptions(m.GetOptions()), Place: PlaceFromProto(m.GetPlace()), Clearance: d.clearance(m.GetClearance()),
	}
}

func stepToProto(s perdure.StepRecord) *perdurev1.StepRecord {
	return &perdurev1.StepRecord{Name: s.Name, Key: s.Key, Result: PayloadToProto(s.Result), Error: taskErrorToProto(s.Error), Instance: s.Instance}
}

func (d *decoder) step(m *perdurev1.StepRecord) perdure.StepRecord {
	return perdure.StepRecord{
		Name: m.GetName(), Key: m.GetKey(), Instance: m.GetInstance(),
		Result: d.payload("steps.result", m.GetResult()), Error: d.taskError(m.GetError()),
	}
}

func newCheckpointToProto(c *perdure.NewCheckpoint) *perdurev1.NewCheckpoint {
	if c == nil {
		return nil
	}
	return &perdurev1.NewCheckpoint{State: PayloadToProto(c.State), Reason: c.Reason, StateVersion: int64(c.StateVersion), Traceparent: c.Traceparent}
}

// NewCheckpointFromProto converts the checkpoint of a commit from its message; nil is converted to nil.
// Errors: invalid_argument.
func NewCheckpointFromProto(m *perdurev1.NewCheckpoint) (*perdure.NewCheckpoint, error) {
	return decode(m, (*decoder).newCheckpoint)
}

func (d *decoder) newCheckpoint(m *perdurev1.NewCheckpoint) *perdure.NewCheckpoint {
	if m == nil {
		return nil
	}
	return &perdure.NewCheckpoint{
		State: d.payload("checkpoint.state", m.GetState()), Reason: m.GetReason(), StateVersion: int(m.GetStateVersion()), Traceparent: m.GetTraceparent(),
	}
}

func newEventToProto(e perdure.NewEvent) *perdurev1.NewEvent {
	return &perdurev1.NewEvent{Type: eventTypes.to[e.Type], Place: placeToProto(e.Place), Fields: e.Fields}
}

func (d *decoder) newEvent(m *perdurev1.NewEvent) perdure.NewEvent {
	return perdure.NewEvent{
		Type: read(d, eventTypes, "events.type", m.GetType()), Place: PlaceFromProto(m.GetPlace()), Fields: raw(m.GetFields()),
	}
}

// BlockEndToProto converts the key and the final length of a block to a message.
func BlockEndToProto(b perdure.BlockEnd) *perdurev1.BlockEnd {
	return &perdurev1.BlockEnd{
		TaskId: UUIDToProto(b.Key.TaskID), Attempt: b.Key.Attempt, Block: b.Key.Block, Length: b.Length,
	}
}

func (d *decoder) blockEnd(m *perdurev1.BlockEnd) perdure.BlockEnd {
	key := perdure.BlockKey{TaskID: d.id("blocks.task_id", m.GetTaskId()), Attempt: d.attempt("blocks.attempt", m.GetAttempt()), Block: m.GetBlock()}
	return perdure.BlockEnd{Key: key, Length: m.GetLength()}
}

func outcomeToProto(o perdure.Outcome) *perdurev1.Outcome {
	return &perdurev1.Outcome{
		Kind: outcomeKinds.to[o.Kind], Wait: waitToProto(o.Wait), Output: PayloadToProto(o.Output),
		Unless: o.Unless, Error: taskErrorToProto(o.Error),
	}
}

func (d *decoder) outcome(m *perdurev1.Outcome) perdure.Outcome {
	return perdure.Outcome{
		Kind: read(d, outcomeKinds, "outcome.kind", m.GetKind()), Wait: d.wait(m.GetWait()),
		Output: d.payload("outcome.output", m.GetOutput()), Unless: m.GetUnless(), Error: d.taskError(m.GetError()),
	}
}

func eagerToProto(e perdure.TaskOffer) *perdurev1.Eager {
	return &perdurev1.Eager{WorkerId: UUIDToProto(e.WorkerID), Kinds: e.Kinds, Queues: e.Queues, Slots: int64(e.Slots), Features: e.Features.Names()}
}

func (d *decoder) eager(m *perdurev1.Eager) perdure.TaskOffer {
	return perdure.TaskOffer{
		WorkerID: d.id("eager.worker_id", m.GetWorkerId()), Kinds: m.GetKinds(), Queues: m.GetQueues(), Slots: int(m.GetSlots()),
		Features: perdure.FeaturesOf(m.GetFeatures()),
	}
}

// CommitReplyToProto converts the reply to a commit to its message.
func CommitReplyToProto(r perdure.CommitReply) *perdurev1.CommitResponse {
	return &perdurev1.CommitResponse{
		Ended: statuses.to[r.Ended], Suspended: r.Suspended, Signals: each(r.Signals, SignalToProto),
		Tasks: each(r.Tasks, TaskToProto), Claims: each(r.Claims, TaskClaimToProto), CheckpointSeq: r.CheckpointSeq,
		Adopted: adoptedToProto(r.Adopted), At: timeToProto(r.At), Wait: waitToProto(r.Wait),
		RecordsSinceCheckpoint: r.RecordsSinceCheckpoint, Questions: each(r.Questions, QuestionToProto),
	}
}

// CommitReplyFromProto converts the reply to a commit from its message. Errors: invalid_argument.
func CommitReplyFromProto(m *perdurev1.CommitResponse) (perdure.CommitReply, error) {
	return decode(m, func(d *decoder, m *perdurev1.CommitResponse) perdure.CommitReply {
		return perdure.CommitReply{
			Ended: read(d, statuses, "ended", m.GetEnded()), Suspended: m.GetSuspended(),
			Signals: each(m.GetSignals(), d.signal), Tasks: each(m.GetTasks(), d.task),
			Claims: each(m.GetClaims(), d.taskClaim), CheckpointSeq: m.GetCheckpointSeq(),
			Adopted: d.adopted(m.GetAdopted()), At: d.time("at", m.GetAt()), Wait: d.wait(m.GetWait()),
			RecordsSinceCheckpoint: m.GetRecordsSinceCheckpoint(), Questions: each(m.GetQuestions(), d.question),
		}
	})
}

func adoptedToProto(adopted map[uuid.UUID]uuid.UUID) []*perdurev1.AdoptedEntry {
	var list []*perdurev1.AdoptedEntry
	for appended, stored := range adopted {
		list = append(list, &perdurev1.AdoptedEntry{AppendedId: UUIDToProto(appended), StoredId: UUIDToProto(stored)})
	}
	return list
}

func (d *decoder) adopted(list []*perdurev1.AdoptedEntry) map[uuid.UUID]uuid.UUID {
	if len(list) == 0 {
		return nil
	}
	adopted := make(map[uuid.UUID]uuid.UUID, len(list))
	for _, m := range list {
		adopted[d.id("adopted.appended_id", m.GetAppendedId())] = d.id("adopted.stored_id", m.GetStoredId())
	}
	return adopted
}
