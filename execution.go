package perdure

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"
)

// Execution is one durable instance of an agent.
type Execution struct {
	ID         uuid.UUID `json:"id"`
	Kind       string    `json:"kind"`
	Status     Status    `json:"status"`
	WaitReason string    `json:"waitReason,omitempty"`
	Wait       *Wait     `json:"wait,omitempty"`
	// OpenQuestions is the number of open questions.
	OpenQuestions   int             `json:"openQuestions,omitempty"`
	PersistenceMode PersistenceMode `json:"persistenceMode"`
	DefinitionID    *uuid.UUID      `json:"agentDefinitionId"`
	Input           json.RawMessage `json:"input"`
	Output          json.RawMessage `json:"output"`
	// InputBytes and the three fields below it are the lengths and hashes of input and output, for
	// clients that do not receive the contents.
	InputBytes   int64  `json:"inputBytes,omitempty" wire:"-"`
	InputSHA256  string `json:"inputSha256,omitempty" wire:"-"`
	OutputBytes  int64  `json:"outputBytes,omitempty" wire:"-"`
	OutputSHA256 string `json:"outputSha256,omitempty" wire:"-"`
	// Title and Usage are set in lists of executions, which contain neither input nor output. Usage is
	// as of the newest checkpoint.
	Title        string           `json:"title,omitempty" wire:"-"`
	Usage        *Usage           `json:"usage,omitempty" wire:"-"`
	UsageByModel map[string]Usage `json:"usageByModel,omitempty" wire:"-"`
	// StopReason and TurnError are set in lists, for a conversation that waits for its user.
	// StopReason is why the conversation's newest response has ended. TurnError is the error if
	// that response failed.
	StopReason    StopReason      `json:"stopReason,omitempty" wire:"-"`
	TurnError     string          `json:"turnError,omitempty" wire:"-"`
	Error         *string         `json:"error"`
	ErrorCode     *Code           `json:"errorCode"`
	Queue         string          `json:"queue"`
	Workspace     string          `json:"workspace"`
	CheckpointSeq int64           `json:"currentCheckpointSeq"`
	MaxSeq        int64           `json:"maxSeq"`
	WorkerID      *uuid.UUID      `json:"workerId"`
	Traceparent   string          `json:"traceparent" nullable:"true"`
	Metadata      json.RawMessage `json:"metadata"`
	CreatedAt     Time            `json:"createdAt"`
	UpdatedAt     Time            `json:"updatedAt"`
	StartedAt     *Time           `json:"startedAt"`
	CompletedAt   *Time           `json:"completedAt"`
	Version       int64           `json:"version"`

	Org string `json:"-"`
	// KeyID is the API key that started the execution; the execution counts against that key's
	// limits. KeyID is nil if the execution was started with the token of the data directory, or by
	// the server process itself.
	KeyID *uuid.UUID `json:"-" wire:"-"`
	// Askers are the API keys that sent the signals which the current response has taken. In the
	// list, uuid.Nil stands for the token of the data directory. Askers is nil if an earlier
	// version of Perdure, which did not record the keys, began the response.
	Askers []uuid.UUID `json:"-" wire:"-"`
	// Leaf is the entry that becomes the parent of the next entry.
	Leaf *uuid.UUID `json:"-"`
	// ResponseID is the id of the current response, or of the last one if no response is running.
	ResponseID string `json:"-"`

	// Fence, ClaimID and LeaseUntil describe the lease of the worker that holds the execution.
	Fence      int64     `json:"-"`
	ClaimID    uuid.UUID `json:"-"`
	LeaseUntil Time      `json:"-"`
	// Embedded reports whether the lease belongs to a worker in the process that owns the data
	// directory. If another process now owns the directory, that worker no longer exists.
	Embedded bool `json:"-"`
	// LastCommit is the number of the newest commit, and Answer the reply to it. A repeat of that
	// commit gets the same reply.
	LastCommit CommitNumber    `json:"-"`
	Answer     json.RawMessage `json:"-"`

	// ReadyAt is the time at which the execution became PENDING; the execution that has been
	// PENDING longest is claimed first. NotBefore is the earliest time of a claim. NotBefore is set
	// after a claim whose worker was lost or reported a panic.
	ReadyAt    Time       `json:"-"`
	NotBefore  Time       `json:"-"`
	WakeReason WakeReason `json:"-"`
	// Crashes, Panics and Unfit are scores: for lost leases, for panics, and for workers that
	// cannot run the execution. A claim that ends in one of these ways adds 2 to its score. A claim
	// that ends normally subtracts 1 from each score. When a score reaches its limit, the execution
	// fails.
	Crashes int `json:"-"`
	Panics  int `json:"-"`
	Unfit   int `json:"-"`
	// CheckpointAt is the time of the newest checkpoint; zero if there is none.
	CheckpointAt Time `json:"-"`
	// RecordedWaits is the record of the execution's waits since the newest checkpoint.
	RecordedWaits RecordedWaits `json:"-"`
	// CancelBy is the time at which an execution that is CANCELLING becomes CANCELLED, even if its
	// worker does not respond.
	CancelBy Time `json:"-"`
	// NextSignal is the Order that the next stored signal gets.
	NextSignal int64 `json:"-"`
	// HomeID is the worker that stores a LOCAL execution, and the only one that may run it; nil before
	// the first claim.
	HomeID *uuid.UUID `json:"homeWorkerId,omitempty"`
	// Away is set on a LOCAL execution that is PENDING while the worker that holds its content is
	// not connected.
	Away *WorkerAway `json:"workerAway,omitempty"`
	// NeedsFeatures are the features that a worker must support to run the execution.
	NeedsFeatures Features `json:"needsFeatures,omitempty" wire:"-"`
	// Gate is the part of the execution's approval policies that the server checks each commit against;
	// nil if every tool call is allowed.
	Gate *Gate `json:"-"`
	// Policies is the result of the method Approvals. It is set for clients that read a single
	// execution. It is nil if every tool call is allowed, or if the client does not receive the
	// input, which contains the policies.
	Policies *Approvals `json:"approvals,omitempty" wire:"-"`
	// RecordsSinceCheckpoint is the number of steps recorded and tasks scheduled since the newest
	// checkpoint. The worker reads these records when the function is entered again.
	RecordsSinceCheckpoint int64 `json:"recordsSinceCheckpoint"`
	// EntryCount is the number of the execution's entries.
	EntryCount int64 `json:"-"`
	// InputBlob and OutputBlob refer to the input and the output if they are over InlineLimit and have
	// not been loaded.
	InputBlob  *BlobRef `json:"-"`
	OutputBlob *BlobRef `json:"-"`
}

// ManyRecords is the number of records since the newest checkpoint at which a warning is shown, because
// a resume has become slow.
const ManyRecords = 1000

// MarshalJSON omits the wait unless the execution is WAITING. The stored execution keeps its wait after
// the wait is met, so that the next claim can include the signals and tasks of the wait.
func (x Execution) MarshalJSON() ([]byte, error) {
	type plain Execution
	if x.Status != StatusWaiting {
		x.Wait, x.WaitReason = nil, ""
	}
	var trace *string // null if no trace is known
	if x.Traceparent != "" {
		trace = &x.Traceparent
	}
	return json.Marshal(struct {
		plain
		Traceparent *string `json:"traceparent"`
	}{plain(x), trace})
}

// TurnFailed reports whether the newest turn of a conversation has failed and can be repeated. In that
// case, the execution waits for [RetrySignal], possibly among other signals.
func (x *Execution) TurnFailed() bool {
	return x.Kind == ReactKind && x.Status == StatusWaiting && x.Wait != nil && slices.Contains(x.Wait.Signals(), RetrySignal)
}

// WorkerAway describes a worker that is not connected.
type WorkerAway struct {
	WorkerID uuid.UUID `json:"workerId"`
	// Since is the time of the last contact with the worker; nil if there was no contact since the
	// server started.
	Since *Time `json:"since"`
}

// LocalQueuePrefix is the prefix of the names of queues for tasks of LOCAL executions. Only one
// worker may run the tasks of such a queue.
const LocalQueuePrefix = "local:"

// LocalQueue returns the name of the queue for the tasks of a worker's LOCAL executions.
func LocalQueue(worker uuid.UUID) string { return LocalQueuePrefix + worker.String() }

// WakeReason is the reason why an execution became PENDING.
type WakeReason string

const (
	WakeStart    WakeReason = "start"
	WakeTask     WakeReason = "task"
	WakeSignal   WakeReason = "signal"
	WakeQuestion WakeReason = "question"
	WakeTimer    WakeReason = "timer"
	WakeLost     WakeReason = "lost"     // the worker that ran the execution was lost
	WakeReturned WakeReason = "returned" // the worker that ran the execution released it
)

// CommitNumber identifies a commit of an execution, and orders its commits. It consists of the fence of
// the claim and the number of the commit in that claim, from 1.
type CommitNumber struct {
	Fence  int64 `json:"fence"`
	Number int64 `json:"number"`
	// ClaimID is the id of the claim. It distinguishes two claims with the same fence, as a restore
	// of the store can produce. It is set in claims and in messages about parked goroutines. The
	// value uuid.Nil, from a worker that does not send the id, matches any claim.
	ClaimID uuid.UUID `json:"-"`
}

// Same reports whether both numbers denote the same commit.
func (n CommitNumber) Same(m CommitNumber) bool {
	return n.Fence == m.Fence && n.Number == m.Number && (n.ClaimID == m.ClaimID || n.ClaimID == uuid.Nil || m.ClaimID == uuid.Nil)
}
