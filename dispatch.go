package perdure

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Dispatch is the interface between a worker and the server. The gRPC client implements it for a
// remote server; the engine implements it for a server in the same process. Every method may return
// the error unavailable, and the caller may then retry. Other errors are listed at each method.
//
// A worker acts for one org. A remote worker's API key determines the org.
type Dispatch interface {
	// Register tells the server which kinds the worker can run, and returns the server's settings.
	// The worker registers again after each reconnect.
	Register(ctx context.Context, r Registration) (Settings, error)

	// PollAgents waits until executions can be claimed, and claims at most p.Slots of them. It returns
	// no claims if none could be claimed within p.Wait.
	PollAgents(ctx context.Context, p Poll) ([]AgentClaim, error)
	// PollTasks waits until tasks can be claimed, and claims at most p.Slots of them. It returns no
	// claims if none could be claimed within p.Wait.
	PollTasks(ctx context.Context, p Poll) ([]TaskClaim, error)
	// Heartbeat renews every lease that the worker holds.
	Heartbeat(ctx context.Context, h Heartbeat) (HeartbeatReply, error)
	// WatchLeases calls `changed` when a client has cancelled, or the server has ended, work that
	// the worker has claimed. It also calls `changed` once when the watch begins. A call of
	// `changed` is only a hint, and may be lost. After the call the worker sends a heartbeat, whose
	// reply reports what has happened. WatchLeases returns when ctx ends or the connection breaks;
	// the caller then calls WatchLeases again. Errors: unavailable; internal from an older server,
	// which has no such method.
	WatchLeases(ctx context.Context, worker uuid.UUID, changed func()) error
	// Release returns claims. The claimed executions become PENDING at once. A released attempt
	// whose code had started counts as lost. The task of any other released attempt becomes PENDING
	// at once, and the retry policy does not count that attempt.
	Release(ctx context.Context, r Release) error

	// Commit stores changes of an execution in one atomic write. A repeated commit with the same
	// fence and number returns the first reply. Errors: lease_lost, invalid_argument,
	// invalid_transcript, conflict (a block is incomplete), idempotency_key_reused,
	// payload_too_large.
	Commit(ctx context.Context, c Commit) (CommitReply, error)
	// FinishTask ends an attempt of a task. A repeated call returns the first reply. Errors:
	// lease_lost, conflict, payload_too_large.
	FinishTask(ctx context.Context, f TaskFinish) (FinishReply, error)
	// Append stores frames, which are chunks of blocks and events that agents and task attempts
	// stream. Each reply holds the number of bytes of the block that the server now has.
	Append(ctx context.Context, frames []Frame) ([]FrameReply, error)

	// Entries returns the entries of a path, in order. The path begins after the entry q.After, or at
	// the root if q.After is nil, and ends at the leaf. Errors: not_found.
	Entries(ctx context.Context, q EntryQuery) iter.Seq2[Entry, error]
	// Execution returns an execution that the worker runs, or one whose task the worker runs.
	Execution(ctx context.Context, id uuid.UUID) (*Execution, error)
	// Tasks returns tasks of an execution with their results, in the order of ids. It returns nil in
	// place of a task that does not exist.
	Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*Task, error)
	// Questions returns questions of an execution with their answers, in the order of ids. It
	// returns nil in place of a question that does not exist. Errors: not_found; unsupported from
	// an older server, which has no such method.
	Questions(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*Question, error)
	// StreamedText returns the text that the newest attempt of an ended task has streamed, at most
	// MaxStreamedText bytes of it. It leaves out superseded blocks, and text that is no longer in the
	// log. Errors: not_found; internal from an older server, which has no such method.
	StreamedText(ctx context.Context, execution, task uuid.UUID) (StreamedText, error)
	// Ended returns the next page of descriptions ([EndedHead]) of ended steps and tasks, in the
	// order in which their records were created. Errors: lease_lost, not_found; internal from an
	// older server, which has no such method.
	Ended(ctx context.Context, q EndedQuery) (EndedPage, error)
	// Signals returns the pending signals whose name matches one of the patterns and whose Order is
	// greater than the parameter `after`, oldest first. It returns at most `limit` signals, of about
	// 1 MiB together.
	Signals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]Signal, error)

	// PutBlob uploads content that is larger than InlineLimit. The commit that refers to the content
	// follows. Errors: payload_too_large, lease_lost.
	PutBlob(ctx context.Context, owner BlobOwner, length int64, content io.Reader) (BlobRef, error)
	// GetBlob returns the content of a blob of the execution. Errors: not_found, also for a LOCAL
	// execution, because only its home worker has the content.
	GetBlob(ctx context.Context, execution, blob uuid.UUID) (io.ReadCloser, error)

	// ServeContents serves the server's requests for contents of LOCAL executions that this worker
	// stores. It returns when ctx ends or the connection breaks; the caller then calls
	// ServeContents again. Errors: unavailable, permission_denied.
	ServeContents(ctx context.Context, worker uuid.UUID, source ContentSource) error
}

// MaxStreamedText is the maximum number of bytes that Dispatch.StreamedText returns.
const MaxStreamedText = 1 << 20

// StreamedText is the text that a task has streamed. For a LOCAL execution the server returns only
// Withheld, the hashes of the text's blocks in order; the home worker replaces the hashes by Text.
type StreamedText struct {
	Text     string
	Withheld []Hash
}

// ContentSource reads the contents of LOCAL executions that the worker stores.
type ContentSource interface {
	// Content returns the content with the hash. Errors: not_found.
	Content(ctx context.Context, execution uuid.UUID, sum Hash) (io.ReadCloser, error)
}

// Registration describes a worker and the kinds that it can run.
type Registration struct {
	WorkerID uuid.UUID      `json:"workerId"`
	Queues   []string       `json:"queues"`
	Agents   []KindSpec     `json:"agents"`
	Tasks    []KindSpec     `json:"tasks"`
	Version  string         `json:"version"`
	Labels   map[string]any `json:"labels,omitempty"`
	// Features are the features that the worker supports.
	Features Features `json:"features,omitempty"`
	// AgentSlots and TaskSlots are the maximum numbers of executions and tasks that the worker runs at
	// the same time. They are only shown to people.
	AgentSlots int `json:"agentSlots,omitempty"`
	TaskSlots  int `json:"taskSlots,omitempty"`
	// Embedded is set by the server if the worker runs in the server's process.
	Embedded bool `json:"-"`
}

// KindSpec describes a kind of agent or task. The server shows the description to people, and
// checks inputs against InputSchema.
type KindSpec struct {
	Kind        string          `json:"kind"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
	// OutputSchema is the JSON Schema of an agent's output or a task's result; nil accepts every
	// value. An output that does not fit fails the execution or task.
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	// Tags are words by which clients filter lists of kinds. See CheckTags.
	Tags []string `json:"tags,omitempty"`
	// Providers are the model providers that the kind can call. The react agent sets them. The list is
	// nil for kinds that call no model.
	Providers []string `json:"providers,omitempty"`
	// Endpoints are the model endpoints that the worker's operator allows; empty if the worker does
	// not report them.
	Endpoints []ModelEndpoint `json:"endpoints,omitempty"`
	// Signals are the signals that an agent takes. Each name occurs once.
	Signals []SignalSpec `json:"signals,omitempty"`
}

// SignalSpec describes a signal that an agent takes.
type SignalSpec struct {
	// Name is the name of the signal, or a pattern for names (see CheckPattern).
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Schema is the JSON Schema of the signal's value; nil accepts every value.
	Schema json.RawMessage `json:"schema,omitempty"`
}

const (
	// MaxSignalSpecs is the maximum number of signals of a kind.
	MaxSignalSpecs = 100
	// MaxSignalSpecBytes is the maximum size of the names, descriptions and schemas of all signals of a
	// kind together, in bytes.
	MaxSignalSpecBytes = 256 << 10
)

// Size returns the total length of the name, the description and the schema in bytes.
func (s SignalSpec) Size() int { return len(s.Name) + len(s.Description) + len(s.Schema) }

// MaxEndpoints is the maximum number of model endpoints per kind.
const MaxEndpoints = 256

// ModelEndpoint is a model server together with the environment variable of its API key, as a worker's
// operator allows them. It holds the variable's name, never the key.
type ModelEndpoint struct {
	// Origin is the origin (scheme, host and port) of the provider's server, in the form of [OriginOf].
	Origin string `json:"origin"`
	// APIKeyEnv is the environment variable that holds the key; "" if the provider's server needs no key.
	APIKeyEnv string `json:"apiKeyEnv,omitempty"`
	// Provider is the provider that has this endpoint as its default, if any.
	Provider string `json:"provider,omitempty"`
	// Queue is the queue from which the worker takes work. Perdure's server sets it.
	Queue string `json:"queue,omitempty"`
}

// Settings are values that a server prescribes for its workers.
type Settings struct {
	Lease        time.Duration `json:"lease"`
	PayloadLimit int64         `json:"payloadLimit"`
	Org          string        `json:"org"`
}

// Poll is a request for claims.
type Poll struct {
	WorkerID uuid.UUID
	Queues   []string
	Kinds    []string
	Slots    int
	Wait     time.Duration // how long to wait for work; 0 returns at once
	// Local reports whether the worker has a store of its own, and an id that stays the same after
	// a restart. Such a worker may claim new LOCAL executions, and those whose content its store
	// holds.
	Local    bool
	Embedded bool
	// Ended requests that claims contain AgentClaim.Ended.
	Ended bool
	// Features are the features that the worker supports. The worker gets only executions and tasks
	// that need no other features.
	Features Features
}

// Lease is the right of a worker to write to an execution. Every write to the execution carries the
// lease.
type Lease struct {
	ExecutionID uuid.UUID `json:"executionId"`
	Fence       int64     `json:"fence"`
	ClaimID     uuid.UUID `json:"claimId"`
}

// TaskLease is the right of a worker to end an attempt of a task.
type TaskLease struct {
	ExecutionID uuid.UUID `json:"executionId"`
	TaskID      uuid.UUID `json:"taskId"`
	Attempt     int       `json:"attempt"`
	ClaimID     uuid.UUID `json:"claimId"`
}

// AgentClaim is a claimed execution with the data that a resume needs, without the entries of the path.
type AgentClaim struct {
	Lease     Lease
	Execution *Execution
	LeaseFor  time.Duration
	// Waited is a lower bound of the time from the request of the poll to the claim. The worker
	// adds Waited to the time of its request, and counts the lease from that time. The worker
	// cannot count from the arrival of the reply, because the reply may be delayed for longer than
	// the lease.
	Waited     time.Duration
	WakeReason WakeReason
	Checkpoint *Checkpoint // the newest checkpoint; nil if there is none
	LastCommit CommitNumber
	// Results are the tasks that the execution's wait contains, with their results.
	Results []*Task
	// Questions are the questions that the wait contains, in their current state, with kind, subject,
	// status and answer only. The claim holds up to 1 MiB of answers. An answer beyond this size is
	// replaced by a zero Answer without a verdict, and Dispatch.Questions returns the complete
	// answer.
	Questions []*Question
	// Signals are the pending signals, oldest first, up to 1 MiB. MoreSignals reports whether further
	// signals are pending.
	Signals     []Signal
	MoreSignals bool
	// Again are the signals that were taken since the newest checkpoint, in the order in which they
	// were taken. A function that is entered again receives them again.
	Again []Signal
	// SignalsTo is a Signal.Order: Signals contains every pending signal up to this order. It is 0 if
	// the order is unknown.
	SignalsTo int64
	// ContinuesParked reports whether the claim continues a goroutine that its worker has parked
	// (see RetainedState). Such a claim leaves out the data that the worker has: input, output,
	// Gate, checkpoint, Again, and the signals up to RetainedState.Seen. A claim in the reply to
	// the end of a task also leaves out that task's input and result. If the worker no longer has
	// the goroutine, the worker releases the claim, and the next claim has all data.
	ContinuesParked bool
	// Ended is the first page of ended steps and tasks. It is set if the poll requested it, the
	// execution had been claimed before, and ContinuesParked is false.
	Ended *EndedPage
}

// RetainedState describes the data that a worker still has of an execution whose goroutine the
// worker has parked.
type RetainedState struct {
	WorkerID uuid.UUID
	// At is the commit with which the goroutine parked.
	At CommitNumber
	// Seen is a Signal.Order: the worker has received every pending signal up to this order.
	Seen int64
}

// TaskClaim is a claimed attempt of a task.
type TaskClaim struct {
	Lease    TaskLease
	LeaseFor time.Duration
	Waited   time.Duration // see AgentClaim.Waited
	Task     *Task
	// Workspace and Traceparent are copied from the execution.
	Workspace   string
	Traceparent string
}

// Heartbeat lists all leases and parked goroutines of a worker.
type Heartbeat struct {
	WorkerID uuid.UUID
	Agents   []Lease
	Tasks    []TaskHeartbeat
	// Parked lists the executions whose goroutines the worker has parked.
	Parked []ParkedExecution
}

// TaskHeartbeat renews the lease of an attempt and reports the attempt's progress, if any. Alive
// reports whether the task's code has shown activity since the last heartbeat; progress counts as
// activity.
type TaskHeartbeat struct {
	Lease    TaskLease
	Progress json.RawMessage
	Alive    bool
}

// ParkedExecution is an execution whose goroutine a worker has parked. At is the commit with which
// the goroutine parked.
type ParkedExecution struct {
	ExecutionID uuid.UUID
	At          CommitNumber
}

// HeartbeatReply holds one reply for each item of the heartbeat, in the same order. If the server
// could not process an item, the reply to an execution or a task has Unknown set, and the reply to a
// parked goroutine is ParkedKeep.
type HeartbeatReply struct {
	Agents []AgentHeartbeatReply
	Tasks  []TaskHeartbeatReply
	Parked []ParkedState
}

// AgentHeartbeatReply is the heartbeat reply for an execution that the worker runs.
type AgentHeartbeatReply struct {
	Lost            bool
	CancelRequested bool
	SignalsPending  bool
	// Unknown reports that the server could not determine the state of the execution. The lease is
	// unchanged, and the next heartbeat asks again.
	Unknown bool
}

// TaskHeartbeatReply is the heartbeat reply for an attempt. The reply tells the worker whether to
// continue the attempt.
type TaskHeartbeatReply struct {
	Lost            bool
	CancelRequested bool
	Unknown         bool // see AgentHeartbeatReply.Unknown
}

// ParkedState tells a worker whether to keep a parked goroutine.
type ParkedState string

const (
	ParkedKeep  ParkedState = "keep"
	ParkedMoved ParkedState = "moved" // another worker has continued the execution
	ParkedEnded ParkedState = "ended"
)

// Release names the claims that a worker returns because it will not continue with them.
type Release struct {
	WorkerID uuid.UUID
	Agents   []AgentRelease
	Tasks    []TaskRelease
	// Discarded lists executions whose parked goroutines the worker has discarded. The server no
	// longer reserves these executions for this worker.
	Discarded []uuid.UUID
}

// AgentRelease returns the claim of one execution.
//
// Panic, if set, is the message of a panic. The server counts panics, and fails the execution after
// several in a row.
//
// Unfit, if set, is the reason why this worker cannot continue the execution, while another worker
// may be able to. The server delays the next claim as it does after a lost worker. The number of such
// releases has the same limit as the number of lost workers; at the limit, the execution fails with
// Unfit as its error. Unlike lost workers, such releases never restrict the claim of the execution to
// workers that have no other execution.
type AgentRelease struct {
	Lease Lease
	Panic string
	Unfit string
}

// TaskRelease returns the claim of one attempt of a task.
type TaskRelease struct {
	Lease   TaskLease
	Started bool
}

// FinishReply is the reply to the end of an attempt.
type FinishReply struct {
	Claim *AgentClaim
}

// Frame is one item that an agent or a task's attempt streams to the server: the next chunk of a
// block, or an event.
type Frame struct {
	// Lease is set if a task's attempt sends the frame, and AgentLease if the execution sends it.
	// Exactly one of them is set.
	Lease      *TaskLease
	AgentLease *Lease
	Block      int64
	Type       EventType
	Place      Place
	Offset     int64
	Text       string
	// Sum, in a LOCAL execution, is the SHA-256 of the block's content up to the end of Text. The
	// server cannot compute Sum, because the server must not store the text.
	Sum    Hash
	Stream string
	// ToolCallID is the id of the tool call, in a block of tool-call arguments (type data).
	ToolCallID string
	// Close reports whether the block ends after this chunk.
	Close bool
	// Reason is the reason for which the block ends; "" means done.
	Reason BlockReason
	// Fields, if set, makes this frame an event with its own seq. Otherwise the frame is a chunk.
	Fields json.RawMessage
}

// FrameReply holds the number of bytes of the block that the server has, or the reason why the server
// refused the frame. If the code of Err is unavailable, rate_limited or internal, the worker can send
// the frame again.
type FrameReply struct {
	Held int64
	Err  *Error
}

// EntryQuery selects a path, or a part of it.
type EntryQuery struct {
	ExecutionID uuid.UUID
	Leaf        uuid.UUID
	After       *uuid.UUID
	// Newest limits the result to the newest entries of the path; 0 means no limit.
	Newest int
	// Context selects the entries from which ContextOf builds the context at Leaf. Without a compaction
	// this is the whole path. Otherwise it is the entries that the newest compaction lists in Pinned,
	// and the path from the entry KeepFrom on (from the compaction on if KeepFrom is nil).
	//
	// If After is on the selected part of the path, only the entries after it are returned, without
	// those in Pinned. Any other After has no effect. Newest has no effect if Context is set. A
	// server that does not know the field Context returns the path after After.
	Context bool
}

// BlobOwner is the owner of a blob until a commit refers to it.
type BlobOwner struct {
	ExecutionID uuid.UUID
	Lease       *Lease
	TaskLease   *TaskLease
}
