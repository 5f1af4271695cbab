// Package store is the contract between the engine, which decides, and a database, which commits.
// All writes go through Do to a committer, which runs them in transactions. All other methods read.
//
// A command names its execution, or how to pick candidates. The committer locks these executions and
// loads the state that the command needs. It lets the command decide, and applies the changes. Once
// the transaction is durable, it answers the caller. One transaction contains many commands.
// Commands of one execution keep their order. A refused command does not affect the others.
package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Lane is a priority class of the committer. The first lane is the most urgent.
type Lane int

const (
	LaneClaims  Lane = iota // renewals and claims
	LaneCommits             // commits, ends of tasks, clients' requests
	LaneChunks              // chunks of blocks and blobs
	LaneSweeps              // timers, expired leases, retention
)

// Lanes is the number of lanes.
const Lanes = 4

// Command is one write to a store.
type Command struct {
	// Name names the command in logs and traces.
	Name string
	Lane Lane
	// Org is the org whose data the command can see. An execution of another org does not exist for
	// the command. With "", it sees all orgs, as the server's own sweeps do.
	Org string
	// Execution is the id of the execution on which the command decides. State.Execution is nil if
	// that execution does not exist. If Pick is set, this field is ignored.
	Execution uuid.UUID
	// Pick chooses candidates in the transaction. Decide runs for each candidate. Decide must check
	// again that the candidate still qualifies.
	Pick *Pick
	// Needs returns what to load for the execution with the row x; x is nil if there is none. It
	// must not change the row, because Decide gets the same one. If Needs is nil, only the row is
	// loaded.
	Needs func(x *perdure.Execution) Needs
	// Decide must be pure, because it may run again with fresh state. It may modify what State
	// points to. If it returns nil and no error, nothing is changed.
	Decide func(s *State) (*Changes, error)
	// Frees reports that the command may run on a full disk: it deletes data, or it is small and
	// necessary for a server's start.
	Frees bool
	// Bytes is the approximate size of the command's data; it limits the size of a batch.
	Bytes int
}

// PickKind is the kind of candidates (executions or tasks) that a pick chooses.
type PickKind int

const (
	// PickAgents chooses PENDING executions that may be claimed, longest pending first: see Pick.
	PickAgents PickKind = iota
	// PickTasks chooses PENDING tasks that may be claimed and whose limits have room, by priority and
	// age.
	PickTasks
	PickTimers        // executions whose timer is due
	PickExpiredAgents // RUNNING or CANCELLING executions whose lease has expired
	PickExpiredTasks  // RUNNING tasks whose lease has expired
	// PickEmbedded chooses executions and tasks that embedded workers have claimed. It chooses each
	// execution once.
	PickEmbedded
	PickCancelOverdue // CANCELLING executions whose CancelBy has passed
	PickTaskDeadlines // open tasks whose schedule-to-close deadline has passed
	PickAttempts      // RUNNING tasks whose AttemptDue passed at least Pick.Grace ago
	// PickLooseBlobs chooses executions with blobs that were begun more than LooseBlobAge ago and to
	// which no commit refers.
	PickLooseBlobs
	PickPruned // executions marked by Changes.Prune whose rows are not all deleted
	// PickQuestions chooses executions with open questions whose ExpiresAt is reached: see
	// Pick.AskedSince. State.Questions contains these questions of the execution.
	PickQuestions
)

// AskerLimit is the maximum number of senders of signals that are recorded as the askers of a
// response. It also limits the length of State.SignalKeys.
const AskerLimit = 1000

// LooseBlobAge is how long an uploaded blob may wait for the commit that refers to it.
const LooseBlobAge = time.Hour

// AloneScore is the score for lost leases at which an execution must run alone in its worker. Three
// lost leases in a row have this score.
const AloneScore = 6

// Pick describes a search for executions or tasks, the candidates. The search runs in the command's
// transaction. Decide runs for each candidate.
//
// PickAgents chooses at most one execution that must run alone. That execution is ordered like the
// others, but does not count towards Limit. State.Holds tells the decision whether the worker can
// run it. PickTasks enforces the limits of tasks. It counts the tasks that the same pick has already
// chosen, so all chosen tasks can be claimed.
type Pick struct {
	Kind   PickKind
	Queues []string // queues to search, for PickAgents and PickTasks; an empty list matches nothing
	Kinds  []string
	Limit  int // maximum number of candidates; 0 means 100

	// Worker is the id of the claiming worker, for PickAgents. State.Holds describes what it holds.
	Worker uuid.UUID
	// AloneOnly makes PickAgents choose only the execution that must run alone.
	AloneOnly bool
	// Skip, if set, reports whether to leave an execution out. Its parameter ready is when the
	// execution became PENDING. Skip is called in the committer and must not block.
	Skip func(execution uuid.UUID, ready perdure.Time) bool
	// QueueLimits contains the maximum number of running tasks of one org by queue, for PickTasks.
	QueueLimits map[string]int
	// Grace is how long ago AttemptDue must have passed, for PickAttempts.
	Grace time.Duration
	// AskedSince limits PickQuestions to questions that were created at or after this time; zero
	// means all.
	AskedSince perdure.Time
	// Home is the id of a worker, for PickAgents. Only LOCAL executions with this home worker, or
	// without a home worker, are chosen. If it is nil, no LOCAL executions are chosen.
	Home *uuid.UUID
	// Features are the features of the worker. PickAgents and PickTasks choose no work that needs a
	// feature outside this set.
	Features perdure.Features
}

// Block is the row of a block of an execution's log.
type Block struct {
	Key       perdure.BlockKey
	Seq       int64
	Type      perdure.EventType
	Place     perdure.Place
	Stream    string
	CreatedAt perdure.Time
	Open      bool
	Length    int64
	FirstPos  int64
	LastPos   int64
	// Digest is the running SHA-256 of an open block, as encoding.BinaryMarshaler encodes it.
	// SHA256 is the hash of a closed block.
	Digest []byte
	SHA256 perdure.Hash
	Reason perdure.BlockReason // why the block was closed
	// Named reports that a closed block's row refers to an equal text of an entry and holds no
	// content itself. The store sets it, whichever of block and entry is stored first. Commands only
	// read it.
	Named bool
	// Content refers to the blob with the content of a closed block of a LOCAL execution. It is
	// written and never read.
	Content *perdure.BlobRef
	// Event marks a block number that the source of a stream has used for an event instead. Such a
	// row has neither content nor cuts.
	Event bool
}

// Blob is the row of a blob. The blob is complete when Held equals Length. An incomplete blob to
// which a commit refers is withheld: its content is not stored here, and readers return its
// reference.
type Blob struct {
	ID     uuid.UUID
	Length int64
	Held   int64
	Digest []byte
	SHA256 perdure.Hash // set once the blob is complete
	Owned  bool         // a commit refers to the blob
	// Staged is the number of stored bytes that readers do not see yet. They become visible with
	// Changes.Unveil.
	Staged int64
}

// Idempotency records which execution was created with an idempotency key. It is kept for 24 hours.
type Idempotency struct {
	Key         string
	RequestHash perdure.Hash
	Execution   uuid.UUID
	ExpiresAt   perdure.Time
}

// Kind is a kind of agents or tasks that a worker has registered.
type Kind struct {
	Org    string
	Agent  bool // a kind of agents; otherwise a kind of tasks
	Spec   perdure.KindSpec
	SeenAt perdure.Time
	// Signals are the signals that workers have registered for the kind, newest registration first.
	// They are stored instead of Spec.Signals.
	Signals []KindSignal
	// Outputs are the output schemas that workers have registered for the kind, newest first. They
	// are stored instead of Spec.OutputSchema.
	Outputs []KindOutput
}

// KindOutput is an output schema of a kind, with the time of the newest registration that contains
// it. Without a schema, every output fits.
type KindOutput struct {
	Schema json.RawMessage `json:"schema,omitempty"`
	SeenAt perdure.Time    `json:"seenAt"`
}

// KindSignal is a signal of a kind, with the time of the newest registration that contains it with
// this schema.
type KindSignal struct {
	perdure.SignalSpec
	SeenAt perdure.Time `json:"seenAt"`
}

// Store is the contract that a database implements for the engine. It is safe for concurrent use.
type Store interface {
	// Do commits a command. It returns the answer of its decision. A command with a Pick returns one
	// answer for each candidate that it has changed. An error of Decide is returned unchanged.
	// Errors: unavailable if the outcome may be unknown.
	Do(ctx context.Context, c Command) ([]any, error)
	// Epoch returns the store's epoch. It changes when the store is restored or copied.
	Epoch() uint64
	// Now returns the store's time.
	Now() perdure.Time
	// Tidy does work that the store has deferred. It costs little if there is none: a server calls
	// it several times per second.
	Tidy(ctx context.Context) error
	Reader
	Close() error
}

// TextBlock is the text index of a block of execution numbers. It is written only if the executions
// of the block are still the same as when their texts were read.
type TextBlock struct {
	Block int64
	// Numbers are the numbers of the executions in the block, in ascending order.
	Numbers []int64
	Parts   [][]byte
	// Stale is set by the store if it has refused to write the block.
	Stale bool
}

// TextAge is the age that an execution must have before the executions with lower numbers are
// indexed. It is for stores with concurrent transactions: by then, every transaction with a lower
// number has ended.
const TextAge = time.Minute
