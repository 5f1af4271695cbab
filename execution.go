package perdure

import (
	"encoding/json"

	"github.com/google/uuid"
)

// Execution is one durable instance of an agent.
type Execution struct {
	ID              uuid.UUID       `json:"id"`
	Kind            string          `json:"kind"`
	Status          Status          `json:"status"`
	WaitReason      string          `json:"waitReason,omitempty"`
	Wait            *Wait           `json:"wait,omitempty"`
	PersistenceMode PersistenceMode `json:"persistenceMode"`
	DefinitionID    *uuid.UUID      `json:"agentDefinitionId"`
	Input           json.RawMessage `json:"input"`
	Output          json.RawMessage `json:"output"`
	// InputBytes and those below it are shown to clients where input or output
	// are not.
	InputBytes   int64  `json:"inputBytes,omitempty" wire:"-"`
	InputSHA256  string `json:"inputSha256,omitempty" wire:"-"`
	OutputBytes  int64  `json:"outputBytes,omitempty" wire:"-"`
	OutputSHA256 string `json:"outputSha256,omitempty" wire:"-"`
	// Title, and usage as of the newest checkpoint, are shown in lists, which
	// have neither input nor output.
	Title         string           `json:"title,omitempty" wire:"-"`
	Usage         *Usage           `json:"usage,omitempty" wire:"-"`
	UsageByModel  map[string]Usage `json:"usageByModel,omitempty" wire:"-"`
	Error         *string          `json:"error"`
	ErrorCode     *Code            `json:"errorCode"`
	Queue         string           `json:"queue"`
	Workspace     string           `json:"workspace"`
	CheckpointSeq int64            `json:"currentCheckpointSeq"`
	MaxSeq        int64            `json:"maxSeq"`
	WorkerID      *uuid.UUID       `json:"workerId"`
	Traceparent   string           `json:"traceparent" nullable:"true"`
	Metadata      json.RawMessage  `json:"metadata"`
	CreatedAt     Time             `json:"createdAt"`
	UpdatedAt     Time             `json:"updatedAt"`
	StartedAt     *Time            `json:"startedAt"`
	CompletedAt   *Time            `json:"completedAt"`
	Version       int64            `json:"version"`

	Org string `json:"-"`
	// KeyID is the key that it was started with, whose limits count it; nil for
	// the token of the data directory, and for the process itself.
	KeyID *uuid.UUID `json:"-" wire:"-"`
	// Leaf is the entry on which the next one hangs.
	Leaf *uuid.UUID `json:"-"`
	// ResponseID is the id of the response that runs, or ran last: the one that
	// the input began, until a later input begins another.
	ResponseID string `json:"-"`

	// Fence, ClaimID and LeaseUntil are the lease of the worker that holds it.
	Fence      int64     `json:"-"`
	ClaimID    uuid.UUID `json:"-"`
	LeaseUntil Time      `json:"-"`
	// Embedded marks a lease of a worker inside the process that owns the data
	// directory: the next process that owns it knows that worker is gone.
	Embedded bool `json:"-"`
	// LastCommit is the newest commit, and Answer what it was answered, so that
	// a repeat is answered the same.
	LastCommit CommitNumber    `json:"-"`
	Answer     json.RawMessage `json:"-"`

	// ReadyAt is when it became PENDING; the longest pending is claimed first.
	// NotBefore puts a claim off (crash guard).
	ReadyAt   Time `json:"-"`
	NotBefore Time `json:"-"`
	Woke      Woke `json:"-"`
	// Crashes, Panics and Unfit are the scores of the crash guard: a claim that
	// ends in a lost lease, in a panic, or with a worker that cannot run the
	// execution adds 2 to its score; one that ends well takes 1 from each.
	Crashes int `json:"-"`
	Panics  int `json:"-"`
	Unfit   int `json:"-"`
	// CheckpointAt is when the newest checkpoint was made; until then, zero.
	CheckpointAt Time `json:"-"`
	// Asked is what is kept of the waits since the checkpoint.
	Asked Asked `json:"-"`
	// CancelBy is when a cancelling execution ends whatever its worker does.
	CancelBy Time `json:"-"`
	// NextSignal is the order of the next signal.
	NextSignal int64 `json:"-"`
	// HomeID is the only worker that may run it, of a LOCAL execution that was
	// claimed once.
	HomeID *uuid.UUID `json:"homeWorkerId,omitempty"`
	// Away says, of a LOCAL execution that is PENDING, that the worker that
	// holds its content is not connected.
	Away *WorkerAway `json:"workerAway,omitempty"`
	// RecordsSinceCheckpoint counts the steps that were recorded, and the tasks that
	// were scheduled, since the newest checkpoint: what a function that is entered again
	// asks for.
	RecordsSinceCheckpoint int64 `json:"recordsSinceCheckpoint"`
	// EntryCount counts the execution's entries.
	EntryCount int64 `json:"-"`
	// InputBlob and OutputBlob hold what is over InlineLimit and not loaded.
	InputBlob  *BlobRef `json:"-"`
	OutputBlob *BlobRef `json:"-"`
}

// ManyRecords is how many records since the newest checkpoint make a resume slow enough
// to warn of.
const ManyRecords = 1000

// MarshalJSON hides the wait of an execution that does not wait: the row keeps
// it after the waking, so that the next claim can bring what was waited for.
func (x Execution) MarshalJSON() ([]byte, error) {
	type plain Execution
	if x.Status != StatusWaiting {
		x.Wait, x.WaitReason = nil, ""
	}
	var trace *string // null where none is known
	if x.Traceparent != "" {
		trace = &x.Traceparent
	}
	return json.Marshal(struct {
		plain
		Traceparent *string `json:"traceparent"`
	}{plain(x), trace})
}

// WorkerAway tells of a worker that is not connected.
type WorkerAway struct {
	WorkerID uuid.UUID `json:"workerId"`
	// Since is when it was last heard of; nil if not since the server started.
	Since *Time `json:"since"`
}

// LocalQueuePrefix begins the names of the queues of LOCAL executions' tasks.
const LocalQueuePrefix = "local:"

// LocalQueue is the queue of the tasks of a worker's LOCAL executions.
func LocalQueue(worker uuid.UUID) string { return LocalQueuePrefix + worker.String() }

// Woke says why an execution became PENDING.
type Woke string

const (
	WokeStart    Woke = "start"
	WokeTask     Woke = "task"
	WokeSignal   Woke = "signal"
	WokeTimer    Woke = "timer"
	WokeLost     Woke = "lost"     // the worker before was lost
	WokeReturned Woke = "returned" // the worker before gave it back
)

// CommitNumber orders the commits of an execution: the fence of the claim, and
// the commit's number in that claim, from 1.
type CommitNumber struct {
	Fence  int64 `json:"fence"`
	Number int64 `json:"number"`
	// ClaimID is that of the claim, which tells it from another that was given the
	// same fence after a restore. It travels with claims, and with what is said of
	// goroutines that are kept; Nil, from a worker that does not say it, is any.
	ClaimID uuid.UUID `json:"-"`
}

// Same reports whether both are one commit.
func (n CommitNumber) Same(m CommitNumber) bool {
	return n.Fence == m.Fence && n.Number == m.Number && (n.ClaimID == m.ClaimID || n.ClaimID == uuid.Nil || m.ClaimID == uuid.Nil)
}
