package perdure

import (
	"github.com/google/uuid"
)

// Commit is one atomic write of an execution.
type Commit struct {
	Lease  Lease
	Number int64 // from 1 in each claim

	Entries    []NewEntry
	Tasks      []NewTask
	Steps      []StepRecord
	Take       []string // ids of the signals that the commit uses
	Checkpoint *NewCheckpoint
	Events     []NewEvent
	CancelTask []uuid.UUID
	// StopTask contains the ids from CancelTask whose streamed text remains in the log.
	StopTask []uuid.UUID
	// Questions are the questions to ask. A question whose key is stored already is not asked
	// again. Withdraw contains ids of questions that need no answer any more. Open ones are
	// withdrawn; the others do not change.
	Questions []NewQuestion
	Withdraw  []uuid.UUID
	// Decisions are those that the worker of a LOCAL execution has stored. The server replaces them by
	// their hashes.
	Decisions []StoredDecision
	// Blocks are the final lengths of the blocks that close with the commit.
	Blocks  []BlockEnd
	Outcome Outcome
	// Eager offers free task slots of this worker.
	Eager Eager
	Place Place
	// Chose records the outcomes of waits for a function that is entered again.
	Chose []Choice
	// Keeps, on a commit that suspends, reports that the worker parks the goroutine. The worker
	// then has the first claim, and its next claim holds only new data. Nil means that the worker
	// parks nothing.
	Keeps *Kept
}

// Eager offers slots for tasks that the commit schedules.
type Eager struct {
	WorkerID uuid.UUID
	Kinds    []string
	Queues   []string
	Slots    int
	Embedded bool
	Features Features // as in Poll
}

// NewEntry is an entry to append. Blob refers to content over InlineLimit.
type NewEntry struct {
	Entry
	Blob *BlobRef
	// Covers is set for a compaction of a LOCAL execution, whose metadata stays on the worker.
	Covers *CompactionRange
}

// NewTask is a task to schedule. Its id is derived from the key.
type NewTask struct {
	Kind      string
	Input     Payload
	InputHash Hash
	Key       string // as DefaultTaskKey or CallerTaskKey returns it
	Options   TaskOptions
	Place     Place
	// Clearance is why the task may run, if the gate of the execution guards its kind.
	Clearance *Clearance
}

// StepRecord is the outcome of a step.
type StepRecord struct {
	Name   string
	Key    string
	Result Payload
	Error  *TaskError
	// Instance is what distinguishes the step from others of its name. It is for people: Key
	// identifies the step. It is empty if it cannot be stored as a text, or is over
	// MaxStepInstance.
	Instance string
}

// MaxStepInstance is the maximum number of characters of a step's stored instance.
const MaxStepInstance = maxTaskName

// NewCheckpoint requests a checkpoint at the leaf after the commit.
type NewCheckpoint struct {
	State  Payload
	Reason string
	// StateVersion is stored in the checkpoint's metadata as state_version, unless it is 0.
	StateVersion int
	// Traceparent, if not empty, is the W3C trace context of the span that makes the checkpoint. It
	// is stored in the metadata as traceparent.
	Traceparent string
}

// BlockEnd is a block's final length.
type BlockEnd struct {
	Key    BlockKey
	Length int64
}

// OutcomeKind is the way in which a commit leaves the execution.
type OutcomeKind string

const (
	OutcomeContinue  OutcomeKind = ""
	OutcomeSuspend   OutcomeKind = "suspend"
	OutcomeComplete  OutcomeKind = "complete"
	OutcomeFail      OutcomeKind = "fail"
	OutcomeCancelled OutcomeKind = "cancelled"
)

// Outcome is the state in which a commit leaves the execution.
type Outcome struct {
	Kind   OutcomeKind
	Wait   *Wait    // for suspend
	Output Payload  // for complete
	Unless []string // for complete: names of signals that prevent the end while they are pending
	Error  *TaskError
}

// CommitReply is the reply to a commit.
type CommitReply struct {
	// Ended is the terminal status that the execution has reached, if any.
	Ended Status
	// Suspended reports whether the lease is over. If it is false after a suspend, the wait was
	// already met. If it is false after a complete, pending signals prevent the end.
	Suspended bool
	// Signals are the pending signals that match the wait or Unless.
	Signals []Signal
	// Tasks are the tasks that the commit or its wait names and that had already ended.
	Tasks []*Task
	// Questions are the questions that the commit asks, withdraws or waits for, as in AgentClaim.
	Questions []*Question
	// Claims are the new tasks that this worker has claimed through Eager.
	Claims []TaskClaim
	// CheckpointSeq is the number of the newest checkpoint.
	CheckpointSeq int64
	// Adopted maps the id of an appended entry to the id of the stored entry, if an entry with the
	// same key was already stored.
	Adopted map[uuid.UUID]uuid.UUID
	// At is the store's time of the commit. The entries have it as their creation time.
	At Time
	// Wait is the wait of a suspend that was already met, with its met leaves marked.
	Wait *Wait
	// RecordsSinceCheckpoint is the number of steps and tasks stored since the newest checkpoint.
	RecordsSinceCheckpoint int64
}

// TaskFinish ends an attempt with a result or an error.
type TaskFinish struct {
	WorkerID uuid.UUID
	Lease    TaskLease
	Result   Payload
	Error    *TaskError
	Blocks   []BlockEnd
	Events   []NewEvent
	// Parked reports whether this worker has parked the goroutine of the execution and has a slot
	// for it. If the end of the task wakes the execution, the reply then holds its claim.
	Parked   bool
	Embedded bool
	// Kept, if the goroutine is parked, describes the data that the worker still has. If it is nil,
	// the claim is complete.
	Kept *Kept
	// Features are the features of the worker, as in Poll.
	Features Features
}
