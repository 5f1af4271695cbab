package perdure

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Dispatch is all that a worker asks of a server. The gRPC client implements
// it, and so does, in one process, the engine itself. Every method may answer
// unavailable, which is worth trying again; the others are named at each.
//
// A worker acts for one org, which the connection's key or the process decides.
type Dispatch interface {
	// Register tells the server what the worker can run, and learns the
	// server's settings. It is repeated after each reconnect.
	Register(ctx context.Context, r Registration) (Settings, error)

	// PollAgents waits until executions can be claimed, and claims at most
	// p.Slots. It returns none when p.Wait is over.
	PollAgents(ctx context.Context, p Poll) ([]AgentClaim, error)
	// PollTasks does the same for tasks.
	PollTasks(ctx context.Context, p Poll) ([]TaskClaim, error)
	// Heartbeat renews every lease that the worker holds.
	Heartbeat(ctx context.Context, h Heartbeat) (HeartbeatReply, error)
	// Release gives claims back: executions become PENDING at once, tasks too;
	// an attempt that had not started does not count.
	Release(ctx context.Context, r Release) error

	// Commit is the one atomic write of an execution. The same fence and number
	// delivered again gives the first answer again. Errors: lease_lost,
	// invalid_argument, invalid_transcript, conflict (a block is not all
	// there), idempotency_key_reused, payload_too_large.
	Commit(ctx context.Context, c Commit) (CommitReply, error)
	// FinishTask ends an attempt. Delivered twice it gives the first answer.
	// Errors: lease_lost, conflict, payload_too_large.
	FinishTask(ctx context.Context, f TaskFinish) (FinishReply, error)
	// Append stores pieces of blocks and events of task attempts and agents. It
	// answers per frame how much of the block the server holds now.
	Append(ctx context.Context, frames []Frame) ([]FrameReply, error)

	// Entries returns the path from after (exclusive; nil is the root) down to
	// the leaf, in order. Errors: not_found.
	Entries(ctx context.Context, q EntryQuery) iter.Seq2[Entry, error]
	// Execution returns an execution that the worker, or a task of it, runs.
	Execution(ctx context.Context, id uuid.UUID) (*Execution, error)
	// Tasks returns tasks of an execution with their results, in the order asked;
	// nil where there is none.
	Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*Task, error)
	// Ended returns the next page of heads of steps and tasks that have ended, in the
	// order in which their records were created. Errors: lease_lost, not_found,
	// internal from a server that does not know the call.
	Ended(ctx context.Context, q EndedQuery) (EndedPage, error)
	// Signals returns the pending signals whose names match and whose order is
	// over after, oldest first: at most limit, and about 1 MiB, of them.
	Signals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]Signal, error)

	// PutBlob uploads content over InlineLimit ahead of the commit that names
	// it. Errors: payload_too_large, lease_lost.
	PutBlob(ctx context.Context, owner BlobOwner, length int64, content io.Reader) (BlobRef, error)
	// GetBlob returns the content of a blob of the execution. A withheld one is
	// not_found.
	GetBlob(ctx context.Context, execution, blob uuid.UUID) (io.ReadCloser, error)

	// ServeContents lets the server ask this worker for contents of its LOCAL
	// executions, until ctx ends or the connection breaks; the caller begins
	// again. Errors: unavailable, permission_denied.
	ServeContents(ctx context.Context, worker uuid.UUID, source ContentSource) error
}

// ContentSource is the contents that a worker keeps of LOCAL executions.
type ContentSource interface {
	// Content returns the content of that hash. Errors: not_found.
	Content(ctx context.Context, execution uuid.UUID, sum Hash) (io.ReadCloser, error)
}

// Registration is what a worker can run.
type Registration struct {
	WorkerID uuid.UUID      `json:"workerId"`
	Queues   []string       `json:"queues"`
	Agents   []KindSpec     `json:"agents"`
	Tasks    []KindSpec     `json:"tasks"`
	Version  string         `json:"version"`
	Labels   map[string]any `json:"labels,omitempty"`
	// Embedded is set by the server for a worker in its own process.
	Embedded bool `json:"-"`
}

// KindSpec describes a kind to people and checks its input.
type KindSpec struct {
	Kind        string          `json:"kind"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// Providers are the model providers that the kind can call, for the react
	// agent; nil for kinds that call none.
	Providers []string `json:"providers,omitempty"`
	// Endpoints are the model endpoints that the worker's operator allows; none if
	// that is not known.
	Endpoints []ModelEndpoint `json:"endpoints,omitempty"`
}

// MaxEndpoints is how many endpoints a worker may name for a kind.
const MaxEndpoints = 256

// ModelEndpoint is a pair of a model server and a key variable that a worker's
// operator allows. It holds the variable's name, and never the key.
type ModelEndpoint struct {
	// Origin is the server's, as [OriginOf] returns it.
	Origin string `json:"origin"`
	// APIKeyEnv is the environment variable with the key; "" for a server that
	// wants none.
	APIKeyEnv string `json:"apiKeyEnv,omitempty"`
	// Provider is the one whose default the pair is, if it is one.
	Provider string `json:"provider,omitempty"`
	// Queue is set by the server: the one that the worker takes work from.
	Queue string `json:"queue,omitempty"`
}

// Settings are the server's, that a worker keeps to.
type Settings struct {
	Lease        time.Duration `json:"lease"`
	PayloadLimit int64         `json:"payloadLimit"`
	Org          string        `json:"org"`
}

// Poll asks for claims.
type Poll struct {
	WorkerID uuid.UUID
	Queues   []string
	Kinds    []string
	Slots    int
	Wait     time.Duration // how long to wait for work; 0 answers at once
	// Local says that the worker has a store of its own under a stable id, and
	// may claim LOCAL executions: new ones, and those whose home it is.
	Local    bool
	Embedded bool
	// Ended asks for AgentClaim.Ended.
	Ended bool
}

// Lease is the right to write an execution; every write carries it.
type Lease struct {
	ExecutionID uuid.UUID `json:"executionId"`
	Fence       int64     `json:"fence"`
	ClaimID     uuid.UUID `json:"claimId"`
}

// TaskLease is the right to end a task's attempt.
type TaskLease struct {
	ExecutionID uuid.UUID `json:"executionId"`
	TaskID      uuid.UUID `json:"taskId"`
	Attempt     int       `json:"attempt"`
	ClaimID     uuid.UUID `json:"claimId"`
}

// AgentClaim is a claimed execution with what a resume needs. The path of
// entries is not in it.
type AgentClaim struct {
	Lease     Lease
	Execution *Execution
	LeaseFor  time.Duration
	// Waited is how long after the request was made it was claimed, at least: a
	// poll waits. The lease is counted from then on, and not from when the answer
	// comes: that may take longer than the lease.
	Waited     time.Duration
	Woke       Woke
	Checkpoint *Checkpoint // newest; nil before the first
	LastCommit CommitNumber
	// Results are the tasks that the wait named, with their results.
	Results []*Task
	// Signals are the pending ones up to 1 MiB, oldest first; MoreSignals says
	// that there are others.
	Signals     []Signal
	MoreSignals bool
	// Again are the signals taken since the checkpoint, in the order taken.
	Again []Signal
	// SignalsTo is the order of the last signal up to which Signals leaves none
	// out; 0 if that is not known.
	SignalsTo int64
	// Kept says that the claim continues with what its worker said to keep (see
	// Kept) and leaves out what that has: input, output, checkpoint, Again, and
	// signals up to Kept.Seen; of the task whose end brought the claim in the
	// answer to it, also input and result. A worker that does not keep it any more
	// gives the claim back, and gets the whole with the next.
	Kept bool
	// Ended is the first page of what has ended, for a poll that asked for it and an
	// execution that was claimed before; else nil. A claim that is Kept has none.
	Ended *EndedPage
}

// Kept is what a worker knows of an execution whose goroutine it keeps while it
// waits.
type Kept struct {
	WorkerID uuid.UUID
	// At is the commit that the goroutine parked with.
	At CommitNumber
	// Seen is the order of the last signal up to which it knows all that are
	// pending.
	Seen int64
}

// TaskClaim is a claimed attempt of a task.
type TaskClaim struct {
	Lease    TaskLease
	LeaseFor time.Duration
	Waited   time.Duration // as of an AgentClaim
	Task     *Task
	// Workspace and Traceparent are the execution's.
	Workspace   string
	Traceparent string
}

// Heartbeat names all that a worker holds.
type Heartbeat struct {
	WorkerID uuid.UUID
	Agents   []Lease
	Tasks    []TaskBeat
	// Parked names executions whose goroutines it keeps.
	Parked []Parked
}

// TaskBeat renews a task's lease, with the attempt's progress if there is any.
// Alive says that the task's code itself gave a sign since the beat before;
// progress is one, too. The beat alone only says that the worker lives.
type TaskBeat struct {
	Lease    TaskLease
	Progress json.RawMessage
	Alive    bool
}

// Parked is an execution whose goroutine a worker keeps, and the commit that it
// parked with.
type Parked struct {
	ExecutionID uuid.UUID
	At          CommitNumber
}

// HeartbeatReply answers in the order of the heartbeat. What could not be done of
// it costs the rest nothing: it is Unknown, and a parked one is to be kept.
type HeartbeatReply struct {
	Agents []AgentBeat
	Tasks  []TaskBeatReply
	Parked []ParkedState
}

// AgentBeat says what a worker has to know of an execution that it runs.
type AgentBeat struct {
	Lost            bool
	CancelRequested bool
	SignalsPending  bool
	// Unknown says that the server could not tell, and nothing else: the lease
	// runs on as it was, and the next heartbeat asks again.
	Unknown bool
}

// TaskBeatReply says whether to continue with an attempt.
type TaskBeatReply struct {
	Lost            bool
	CancelRequested bool
	Unknown         bool // as in AgentBeat
}

// ParkedState says whether a goroutine is worth keeping.
type ParkedState string

const (
	ParkedKeep  ParkedState = "keep"
	ParkedMoved ParkedState = "moved" // another worker continued with it
	ParkedEnded ParkedState = "ended"
)

// Release gives back what a worker will not continue with.
type Release struct {
	WorkerID uuid.UUID
	Agents   []AgentRelease
	Tasks    []TaskRelease
	// Discarded names parked executions whose goroutines the worker has given
	// up: it has no first claim on them any more.
	Discarded []uuid.UUID
}

// AgentRelease gives one execution back. Panic, if set, counts as one and says
// what it was. Unfit, if set, says why this worker cannot continue with it, so that
// another may: it is put off like an execution that lost its worker, and after
// as many times it fails with Unfit as its error. Those are no crashes: it need
// not be alone in its worker.
type AgentRelease struct {
	Lease Lease
	Panic string
	Unfit string
}

// TaskRelease gives one attempt back.
type TaskRelease struct {
	Lease   TaskLease
	Started bool
}

// Commit is one atomic write of an execution.
type Commit struct {
	Lease  Lease
	Number int64 // from 1 in each claim

	Entries    []NewEntry
	Tasks      []NewTask
	Steps      []StepRecord
	Take       []string // signal ids
	Checkpoint *NewCheckpoint
	Events     []NewEvent
	CancelTask []uuid.UUID
	// Blocks gives the final length of every block that closes with the commit.
	Blocks  []BlockEnd
	Outcome Outcome
	// Eager offers free task slots of this worker.
	Eager Eager
	Place Place
	// Chose records what waits came to, for a function that is entered again.
	Chose []Choice
	// Keeps, of a commit that suspends, says that the worker keeps the goroutine:
	// it has first claim, and needs no more than is new. Nil says nothing of it.
	Keeps *Kept
}

// Eager offers slots for tasks that the commit schedules.
type Eager struct {
	WorkerID uuid.UUID
	Kinds    []string
	Queues   []string
	Slots    int
	Embedded bool
}

// NewEntry is an entry to append. Blob stands for content over InlineLimit.
type NewEntry struct {
	Entry
	Blob *BlobRef
}

// NewTask is a task to schedule. The id follows from the key.
type NewTask struct {
	Kind      string
	Input     Payload
	InputHash Hash
	Key       string // as DefaultTaskKey or CallerTaskKey give it
	Options   TaskOptions
	Place     Place
}

// StepRecord is the outcome of a step.
type StepRecord struct {
	Name   string
	Key    string
	Result Payload
	Error  *TaskError
}

// NewCheckpoint asks for a checkpoint at the leaf that the commit leads to.
type NewCheckpoint struct {
	State  Payload
	Reason string
	// StateVersion is in the checkpoint's metadata as state_version, unless it
	// is 0.
	StateVersion int
	// Traceparent, if not empty, names the span that it was made under, as W3C Trace
	// Context does; it is in the metadata as traceparent.
	Traceparent string
}

// BlockEnd gives a block's final length.
type BlockEnd struct {
	Key    BlockKey
	Length int64
}

// OutcomeKind reports how a commit leaves the execution.
type OutcomeKind string

const (
	OutcomeContinue  OutcomeKind = ""
	OutcomeSuspend   OutcomeKind = "suspend"
	OutcomeComplete  OutcomeKind = "complete"
	OutcomeFail      OutcomeKind = "fail"
	OutcomeCancelled OutcomeKind = "cancelled"
)

// Outcome is how a commit leaves the execution.
type Outcome struct {
	Kind   OutcomeKind
	Wait   *Wait    // for suspend
	Output Payload  // for complete
	Unless []string // for complete: names of signals that, while pending, keep it from ending
	Error  *TaskError
}

// CommitReply answers a commit.
type CommitReply struct {
	// Ended is the terminal status that the execution has reached, if any.
	Ended Status
	// Suspended says that the lease is over. Where it is false after a suspend,
	// the wait was met already; after a complete, signals keep it from ending.
	Suspended bool
	// Signals are the pending ones that the wait, or Unless, asked for.
	Signals []Signal
	// Tasks are those named by the commit or its wait that had ended already.
	Tasks []*Task
	// Claims are the new tasks that this worker has now claimed.
	Claims []TaskClaim
	// CheckpointSeq is the number of the newest checkpoint.
	CheckpointSeq int64
	// Adopted maps the ids of appended entries whose key was known already to
	// the ids of the stored ones.
	Adopted map[uuid.UUID]uuid.UUID
	// At is the store's time of the commit, which the entries were created at.
	At Time
	// Wait is the wait of a suspend that was met already, with the leaves marked
	// that are.
	Wait *Wait
}

// TaskFinish ends an attempt with a result or an error.
type TaskFinish struct {
	WorkerID uuid.UUID
	Lease    TaskLease
	Result   Payload
	Error    *TaskError
	Blocks   []BlockEnd
	Events   []NewEvent
	// Parked says that this worker keeps the goroutine of the execution and has
	// a slot for it: if this end wakes it, the answer brings its claim.
	Parked   bool
	Embedded bool
	// Kept, if it is parked, is what the goroutine knows; with nil the claim brings
	// everything.
	Kept *Kept
}

// FinishReply answers the end of an attempt.
type FinishReply struct {
	Claim *AgentClaim
}

// Frame is what a source streams: the next piece of a block, or an event.
type Frame struct {
	// Lease is that of the task's attempt, AgentLease that of the execution;
	// one of them is set.
	Lease      *TaskLease
	AgentLease *Lease
	Block      int64
	Type       EventType
	Place      Place
	Offset     int64
	Text       string
	// Sum is, in a LOCAL execution, the SHA-256 of the block up to the end of
	// Text: the server must not keep what it would need to make it.
	Sum    Hash
	Stream string
	// ToolCallID is set on a block of tool-call arguments (type data).
	ToolCallID string
	// Close says that the block ends with this piece.
	Close bool
	// Reason is why it closes; "" is done.
	Reason BlockReason
	// Fields makes the frame an event with a number of its own instead.
	Fields json.RawMessage
}

// FrameReply says how many bytes of the block the server holds, or why the
// frame was refused. unavailable, rate_limited and internal say that it could not
// be stored now, and can be sent again.
type FrameReply struct {
	Held int64
	Err  *Error
}

// EntryQuery asks for a path.
type EntryQuery struct {
	ExecutionID uuid.UUID
	Leaf        uuid.UUID
	After       *uuid.UUID
	// Newest bounds the path to that many entries before the leaf; 0 is all.
	Newest int
}

// BlobOwner is who a blob belongs to until a commit names it.
type BlobOwner struct {
	ExecutionID uuid.UUID
	Lease       *Lease
	TaskLease   *TaskLease
}
