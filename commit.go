package perdure

import (
	"github.com/google/uuid"
)

// Commit is one atomic write of an execution.
type Commit struct {
	Lease  Lease
	Number int64 // counts the commits of a claim, from 1

	Entries    []NewEntry
	Tasks      []NewTask
	Steps      []StepRecord
	Take       []string // ids of the signals that the commit uses
	Checkpoint *NewCheckpoint
	Events     []NewEvent
	CancelTask []uuid.UUID
	// StopTask lists those ids in CancelTask whose tasks keep their streamed text in the log.
	StopTask []uuid.UUID
	// Questions are the questions to ask. A question whose key is already stored is not asked again.
	// Withdraw contains ids of questions that need no answer any more. Each of them that is still
	// open becomes withdrawn.
	Questions []NewQuestion
	Withdraw  []uuid.UUID
	// Decisions name the questions whose decisions the worker of a LOCAL execution has stored. The
	// server then keeps only the hashes of these decisions.
	Decisions []StoredDecision
	// Blocks are the final lengths of the blocks that the commit closes.
	Blocks  []BlockEnd
	Outcome Outcome
	// Offer offers free task slots of this worker for the tasks that the commit schedules.
	Offer TaskOffer
	Place Place
	// WaitChoices records which alternative was met in each wait for one of several conditions. A function
	// that is entered again reads this record.
	WaitChoices []WaitChoice
	// Retained is set if the commit suspends the execution and the worker parks the goroutine. It
	// describes the data that the worker keeps in memory, so that this worker's next claim contains
	// only newer data. When the execution becomes PENDING, the server reserves the execution for
	// this worker for a short time.
	Retained *RetainedState
}

// TaskOffer offers free slots of the committing worker for tasks that the commit schedules.
type TaskOffer struct {
	WorkerID uuid.UUID
	Kinds    []string
	Queues   []string
	Slots    int
	Embedded bool
	Features Features // the features that the worker supports
}

// NewEntry is an entry to append. Blob refers to the entry's content if it is over InlineLimit.
type NewEntry struct {
	Entry
	Blob *BlobRef
	// Covers is set on a compaction of a LOCAL execution. The server does not receive the entry's
	// metadata there, because the content of a LOCAL execution stays on its worker.
	Covers *CompactionRange
}

// NewTask is a task to schedule. The id of the task is derived from the task key.
type NewTask struct {
	Kind      string
	Input     Payload
	InputHash Hash
	Key       string // as returned by DefaultTaskKey or CallerTaskKey
	Options   TaskOptions
	Place     Place
	// Clearance is the reason why the task may run. It is needed if the execution's approval
	// policies guard the task's kind.
	Clearance *Clearance
}

// StepRecord is the outcome of a step.
type StepRecord struct {
	Name   string
	Key    string
	Result Payload
	Error  *TaskError
	// Instance is the text that distinguishes the step from other steps of its name. The text is
	// only shown to people; the step is identified by Key. Instance is empty if the text cannot be
	// stored or is longer than MaxStepInstance.
	Instance string
}

// MaxStepInstance is the maximum number of characters of a step's stored instance.
const MaxStepInstance = maxTaskName

// NewCheckpoint requests a checkpoint at the leaf that the execution has after the commit.
type NewCheckpoint struct {
	State  Payload
	Reason string
	// StateVersion is stored in the checkpoint's metadata as state_version, unless it is 0.
	StateVersion int
	// Traceparent, if not empty, is the W3C trace context of the span in which the worker makes the
	// checkpoint. It is stored in the checkpoint's metadata as traceparent.
	Traceparent string
}

// BlockEnd is the final length of a block.
type BlockEnd struct {
	Key    BlockKey
	Length int64
}

// OutcomeKind says what becomes of the execution after a commit: it continues, suspends or ends.
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
	Unless []string // for complete: names of signals; the execution does not end while one is pending
	Error  *TaskError
}

// CommitReply is the reply to a commit.
type CommitReply struct {
	// Ended is the terminal status of the execution if it has ended; "" otherwise.
	Ended Status
	// Suspended reports whether the commit has ended the worker's lease. For OutcomeSuspend, false
	// means that the wait was already met. For OutcomeComplete, false means that pending signals
	// prevent the end of the execution.
	Suspended bool
	// Signals is set if the commit did not suspend or end the execution as Outcome asked (see
	// Suspended). Signals has the pending signals that the wait or Outcome.Unless names, oldest
	// first: at most 200, and about 1 MiB.
	Signals []Signal
	// Tasks are the tasks that the commit or its wait names and that had ended before the commit.
	Tasks []*Task
	// Questions are the questions that the commit asks, withdraws or waits for, with kind, subject,
	// status and answer only. The reply holds up to 1 MiB of answers. An answer beyond this size is
	// replaced by a zero Answer without a verdict, and Dispatch.Questions returns the complete
	// answer.
	Questions []*Question
	// Claims are the new tasks that this worker has claimed through Commit.Offer.
	Claims []TaskClaim
	// CheckpointSeq is the number of the newest checkpoint.
	CheckpointSeq int64
	// Adopted maps the id of an appended entry to the id of the stored entry, if an entry with the
	// same key was already stored.
	Adopted map[uuid.UUID]uuid.UUID
	// At is the store's time of the commit. The entries of the commit have this creation time.
	At Time
	// Wait is set if the outcome is OutcomeSuspend and its wait was already met. It is a copy of that
	// wait, in which Met is set on each node that is met.
	Wait *Wait
	// RecordsSinceCheckpoint is the number of steps and tasks stored since the newest checkpoint.
	RecordsSinceCheckpoint int64
}

// TaskFinish ends an attempt of a task with a result or an error.
type TaskFinish struct {
	WorkerID uuid.UUID
	Lease    TaskLease
	Result   Payload
	Error    *TaskError
	Blocks   []BlockEnd
	Events   []NewEvent
	// Parked reports whether this worker has parked the goroutine of the execution and has a free
	// slot for the execution. If Parked is true and the end of the task meets the execution's wait,
	// the reply contains a claim of the execution.
	Parked   bool
	Embedded bool
	// Retained describes the data that the worker still has for the parked goroutine. If it is nil, the
	// claim in the reply has all data.
	Retained *RetainedState
	// Features are the features that the worker supports.
	Features Features
}
