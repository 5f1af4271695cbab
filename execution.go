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
	// OpenQuestions is the number of questions that people can answer.
	OpenQuestions   int             `json:"openQuestions,omitempty"`
	PersistenceMode PersistenceMode `json:"persistenceMode"`
	DefinitionID    *uuid.UUID      `json:"agentDefinitionId"`
	Input           json.RawMessage `json:"input"`
	Output          json.RawMessage `json:"output"`
	// InputBytes and the fields below it describe input and output to clients that do not receive
	// them.
	InputBytes   int64  `json:"inputBytes,omitempty" wire:"-"`
	InputSHA256  string `json:"inputSha256,omitempty" wire:"-"`
	OutputBytes  int64  `json:"outputBytes,omitempty" wire:"-"`
	OutputSHA256 string `json:"outputSha256,omitempty" wire:"-"`
	// Title, and the usage as of the newest checkpoint, are for lists of executions. Lists have
	// neither input nor output.
	Title        string           `json:"title,omitempty" wire:"-"`
	Usage        *Usage           `json:"usage,omitempty" wire:"-"`
	UsageByModel map[string]Usage `json:"usageByModel,omitempty" wire:"-"`
	// StopReason and TurnError are for lists: why the newest response of a conversation that waits
	// for its user has ended, and the error of a failed one.
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
	// KeyID is the key that started the execution; the execution counts against the key's limits.
	// It is nil for the token of the data directory, and for the process itself.
	KeyID *uuid.UUID `json:"-" wire:"-"`
	// Askers are the keys of the signals that the current response has taken; uuid.Nil is the token of
	// the data directory. They are nil if servers did not record them yet when the response began.
	Askers []uuid.UUID `json:"-" wire:"-"`
	// Leaf is the entry that becomes the parent of the next entry.
	Leaf *uuid.UUID `json:"-"`
	// ResponseID is the id of the current or the last response. The input began the first response;
	// a later input begins another.
	ResponseID string `json:"-"`

	// Fence, ClaimID and LeaseUntil are the lease of the worker that holds the execution.
	Fence      int64     `json:"-"`
	ClaimID    uuid.UUID `json:"-"`
	LeaseUntil Time      `json:"-"`
	// Embedded marks a lease of a worker in the process that owns the data directory. When another
	// process owns the directory, that worker no longer exists.
	Embedded bool `json:"-"`
	// LastCommit is the newest commit, and Answer the reply to it, so that a repeated commit gets
	// the same reply.
	LastCommit CommitNumber    `json:"-"`
	Answer     json.RawMessage `json:"-"`

	// ReadyAt is the time at which the execution became PENDING; the execution that has been
	// PENDING longest is claimed first. NotBefore delays a claim (crash guard).
	ReadyAt   Time `json:"-"`
	NotBefore Time `json:"-"`
	Woke      Woke `json:"-"`
	// Crashes, Panics and Unfit are the scores of the crash guard for a lost lease, for a panic,
	// and for a worker that cannot run the execution. A claim that ends in one of these ways adds 2
	// to its score. A claim that ends well subtracts 1 from each score.
	Crashes int `json:"-"`
	Panics  int `json:"-"`
	Unfit   int `json:"-"`
	// CheckpointAt is the time of the newest checkpoint; zero if there is none.
	CheckpointAt Time `json:"-"`
	// Asked is the record of the waits since the newest checkpoint.
	Asked Asked `json:"-"`
	// CancelBy is the time at which a cancelling execution ends, whatever its worker does.
	CancelBy Time `json:"-"`
	// NextSignal is the order of the next signal to be stored.
	NextSignal int64 `json:"-"`
	// HomeID is the only worker that may run a LOCAL execution; nil before the first claim.
	HomeID *uuid.UUID `json:"homeWorkerId,omitempty"`
	// Away is set on a LOCAL execution that is PENDING while the worker that holds its content is
	// not connected.
	Away *WorkerAway `json:"workerAway,omitempty"`
	// NeedsFeatures are the features of the workers that may run the execution.
	NeedsFeatures Features `json:"needsFeatures,omitempty" wire:"-"`
	// Gate is the gate of the execution's approval policies; nil if every tool call is allowed.
	Gate *Gate `json:"-"`
	// Policies are, for clients that read a single execution, what Approvals returns. It is nil if every
	// tool call is allowed, or if the input that contains the policies is not shown.
	Policies *Approvals `json:"approvals,omitempty" wire:"-"`
	// RecordsSinceCheckpoint counts the steps recorded and the tasks scheduled since the newest
	// checkpoint. A function that is entered again requests these records.
	RecordsSinceCheckpoint int64 `json:"recordsSinceCheckpoint"`
	// EntryCount is the number of the execution's entries.
	EntryCount int64 `json:"-"`
	// InputBlob and OutputBlob refer to an input and output that are over InlineLimit and not
	// loaded.
	InputBlob  *BlobRef `json:"-"`
	OutputBlob *BlobRef `json:"-"`
}

// ManyRecords is the number of records since the newest checkpoint from which on a resume is slow
// enough for a warning.
const ManyRecords = 1000

// MarshalJSON omits the wait of an execution that is not WAITING. The row keeps the wait after the
// execution wakes, so that the next claim can include the signals and tasks of the wait.
func (x Execution) MarshalJSON() ([]byte, error) {
	type plain Execution
	if x.Status != StatusWaiting {
		x.Wait, x.WaitReason = nil, ""
	}
	var trace *string // null if there is no known trace
	if x.Traceparent != "" {
		trace = &x.Traceparent
	}
	return json.Marshal(struct {
		plain
		Traceparent *string `json:"traceparent"`
	}{plain(x), trace})
}

// TurnFailed reports whether the newest turn of a conversation has failed and can be repeated: the
// execution waits, among others, for [RetrySignal].
func (x *Execution) TurnFailed() bool {
	return x.Kind == ReactKind && x.Status == StatusWaiting && x.Wait != nil && slices.Contains(x.Wait.Signals(), RetrySignal)
}

// WorkerAway describes a worker that is not connected.
type WorkerAway struct {
	WorkerID uuid.UUID `json:"workerId"`
	// Since is the time of the last contact with the worker; nil if there was none since the server
	// started.
	Since *Time `json:"since"`
}

// LocalQueuePrefix is the prefix of the queues of LOCAL executions' tasks.
const LocalQueuePrefix = "local:"

// LocalQueue returns the queue of the tasks of a worker's LOCAL executions.
func LocalQueue(worker uuid.UUID) string { return LocalQueuePrefix + worker.String() }

// Woke is the reason for which an execution became PENDING.
type Woke string

const (
	WokeStart    Woke = "start"
	WokeTask     Woke = "task"
	WokeSignal   Woke = "signal"
	WokeQuestion Woke = "question"
	WokeTimer    Woke = "timer"
	WokeLost     Woke = "lost"     // the previous worker was lost
	WokeReturned Woke = "returned" // the previous worker released it
)

// CommitNumber orders the commits of an execution. It consists of the fence of the claim and the
// commit's number in that claim, from 1.
type CommitNumber struct {
	Fence  int64 `json:"fence"`
	Number int64 `json:"number"`
	// ClaimID is the id of the claim. It distinguishes the claim from another one with the same
	// fence, which a restore of the store can produce. Claims carry it, and so do messages about
	// parked goroutines. uuid.Nil, from a worker that does not send it, matches any claim.
	ClaimID uuid.UUID `json:"-"`
}

// Same reports whether both numbers denote the same commit.
func (n CommitNumber) Same(m CommitNumber) bool {
	return n.Fence == m.Fence && n.Number == m.Number && (n.ClaimID == m.ClaimID || n.ClaimID == uuid.Nil || m.ClaimID == uuid.Nil)
}
