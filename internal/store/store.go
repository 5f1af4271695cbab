// Package store is the contract between the engine, which decides, and a database, which commits.
// All writes go through Do to a committer, which runs them in transactions. All other methods read.
//
// A command names its execution, or how to pick candidates. The committer locks these executions,
// loads the state that the command needs, lets it decide and applies the changes. Once the
// transaction is durable, it answers. Many commands share a transaction. Commands of one execution
// keep their order. A refused command does not affect the others.
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
	// Org limits what the command can see: an execution of another org does not exist for it. ""
	// sees all orgs, for the server's own sweeps.
	Org string
	// Execution is the execution on which the command decides; State.Execution is nil if it does
	// not exist. Execution is ignored if Pick is set.
	Execution uuid.UUID
	// Pick chooses candidates in the transaction. Decide runs for each of them, and must check
	// again whether it is one.
	Pick *Pick
	// Needs returns what to load, given the execution's row (nil if none). It must not change the
	// row, because Decide gets the same one. A nil Needs loads only the row.
	Needs func(x *perdure.Execution) Needs
	// Decide must be pure: it may run again with fresh state. It may modify what State points to.
	// Nil changes without an error change nothing.
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
	PickAgents        PickKind = iota // PENDING executions that may be claimed, longest pending first; see Pick
	PickTasks                         // PENDING tasks that may be claimed and whose limits have room, by priority, then oldest
	PickTimers                        // executions whose timer is due
	PickExpiredAgents                 // RUNNING or CANCELLING, lease expired
	PickExpiredTasks                  // RUNNING, lease expired
	PickEmbedded                      // leases of embedded workers, agents' and tasks' (each execution once)
	PickCancelOverdue                 // CANCELLING past CancelBy
	PickTaskDeadlines                 // open tasks past schedule-to-close
	PickAttempts                      // RUNNING tasks whose AttemptDue is Pick.Grace ago
	PickLooseBlobs                    // executions with blobs begun more than LooseBlobAge ago that no commit refers to
	PickPruned                        // executions marked by Changes.Prune whose rows are not all deleted
	// PickQuestions chooses executions with open questions whose ExpiresAt is reached: see
	// Pick.AskedSince. State.Questions contains these questions of the execution.
	PickQuestions
)

// AskerLimit is the maximum number of senders of signals that are recorded for a response, and the
// maximum length of State.SignalKeys.
const AskerLimit = 1000

// LooseBlobAge is how long an uploaded blob may wait for the commit that refers to it.
const LooseBlobAge = time.Hour

// AloneScore is the score of lost leases from which an execution must run alone in its worker. It
// is the score of three losses in a row.
const AloneScore = 6

// Pick describes a search in the command's transaction for executions or tasks, the candidates.
// Decide runs for each candidate.
//
// PickAgents chooses, in the same order as the others, at most one execution that must run alone;
// it does not count towards Limit. State.Holds tells the decision whether the worker can run it.
// PickTasks enforces the limits, counting the tasks that the same pick has already chosen: it
// chooses no task that could not be claimed after those.
type Pick struct {
	Kind   PickKind
	Queues []string // for PickAgents and PickTasks: any of these; an empty list matches nothing
	Kinds  []string
	Limit  int // maximum number of candidates; 0 means 100

	// Worker is the claiming worker, for PickAgents. State.Holds describes it.
	Worker uuid.UUID
	// AloneOnly chooses only the execution that must run alone.
	AloneOnly bool
	// Skip, if set, returns true for executions to leave out. ready is when the execution became
	// PENDING. Skip is called in the committer and must not block.
	Skip func(execution uuid.UUID, ready perdure.Time) bool
	// QueueLimits limits, for PickTasks, the number of running tasks of one org on a queue.
	QueueLimits map[string]int
	// Grace is how long AttemptDue must have passed for PickAttempts.
	Grace time.Duration
	// AskedSince limits PickQuestions to questions that were created at or after this time; zero
	// means all.
	AskedSince perdure.Time
	// Home is the worker for which PickAgents chooses LOCAL executions. It chooses executions with
	// that home, and executions without a home. Nil chooses no LOCAL executions.
	Home *uuid.UUID
	// Features are the features of the worker. PickAgents and PickTasks choose no work that needs a
	// feature outside this set.
	Features perdure.Features
}

// Block is the row of a block.
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
	Reason perdure.BlockReason // once closed
	// Named reports that the content of a closed block is a text of an entry to which the row
	// refers instead of holding the content. It is only read. The store sets it, whichever of block
	// and entry comes first.
	Named bool
	// Content is the blob that holds the content of a closed block of a LOCAL execution. It is only
	// written.
	Content *perdure.BlobRef
	// Event marks a block number that a source used for an event: it has neither content nor cuts.
	Event bool
}

// Blob is the row of a blob. It is complete when Held equals Length. A blob that a commit refers to
// and that is not complete is withheld: readers return its reference.
type Blob struct {
	ID     uuid.UUID
	Length int64
	Held   int64
	Digest []byte
	SHA256 perdure.Hash // once complete
	Owned  bool         // a commit refers to it
	// Staged is the number of bytes that are stored and not visible yet, before the commit that
	// makes them visible.
	Staged int64
}

// Idempotency records the creation of an execution by its key, for 24 hours.
type Idempotency struct {
	Key         string
	RequestHash perdure.Hash
	Execution   uuid.UUID
	ExpiresAt   perdure.Time
}

// Kind is a kind of agents or tasks that a worker has registered.
type Kind struct {
	Org    string
	Agent  bool // otherwise a kind of tasks
	Spec   perdure.KindSpec
	SeenAt perdure.Time
	// Signals are the signals that workers have registered for the kind, those of the newest
	// registration first. They are read and written in place of Spec.Signals.
	Signals []KindSignal
	// Outputs are the output schemas that workers have registered for the kind, the newest first.
	// They are read and written in place of Spec.OutputSchema.
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
	// Do commits a command. It returns the answers of its decisions: one, or one per picked
	// candidate that was changed. An error of Decide is returned unchanged. Errors: unavailable if
	// the outcome may be unknown.
	Do(ctx context.Context, c Command) ([]any, error)
	// Epoch returns the store's epoch. It changes when the store is restored or copied.
	Epoch() uint64
	// Now returns the store's time.
	Now() perdure.Time
	// Tidy does work that the store has deferred. It is cheap if there is none: a server calls it
	// several times per second.
	Tidy(ctx context.Context) error
	Reader
	Close() error
}

// TextBlock is the text index of a block of execution numbers. It is not written if the block has
// changed since it was read.
type TextBlock struct {
	Block int64
	// Numbers are the numbers of the executions in the block, in ascending order.
	Numbers []int64
	Parts   [][]byte
	// Stale is set by the store if the block was not written.
	Stale bool
}

// TextAge is the minimum age of an execution before the executions with lower numbers are indexed,
// in stores with concurrent transactions: each transaction ends earlier than that.
const TextAge = time.Minute
