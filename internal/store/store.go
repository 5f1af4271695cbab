// Package store is the contract between the engine, which decides on commands, and a database,
// which stores the decisions. All writes are commands that are passed to Do; a committer of the
// store runs them in transactions. All other methods read.
//
// A command names the execution on which it decides, or describes how to pick candidates. The
// committer locks these executions and loads the state that the command needs. It calls the
// command's Decide, and writes the changes that Decide returns. Do returns once the transaction is
// durable. One transaction contains many commands. Commands for the same execution keep their
// order. A command that Decide refuses does not affect the others.
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
	// the command. If Org is "", as in the server's own sweeps, the command can see all orgs.
	Org string
	// Execution is the id of the execution on which the command decides. State.Execution is nil if
	// that execution does not exist. If Pick is set, this field is ignored.
	Execution uuid.UUID
	// Pick, if set, chooses candidates in the transaction. Decide runs for each candidate, and must
	// check that the candidate still qualifies.
	Pick *Pick
	// Needs returns what to load for the execution with the row x, which is nil if the execution
	// does not exist. Needs must not change x, because Decide gets the same row. If Needs is nil,
	// only the row is loaded.
	Needs func(x *perdure.Execution) Needs
	// Decide returns what the command changes; nil if nothing. It may run again with fresh state,
	// so it must have no side effects. It may modify the objects to which the fields of the State
	// point.
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
	// PickTasks chooses PENDING tasks that may be claimed without exceeding a limit, by priority
	// and age.
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
	// PickLooseBlobs chooses executions with blobs whose upload began more than LooseBlobAge ago and
	// to which no commit refers.
	PickLooseBlobs
	PickPruned // executions marked by Changes.Prune whose rows are not all deleted
	// PickQuestions chooses executions with open questions that have expired (see Pick.AskedSince).
	// State.Questions contains these questions.
	PickQuestions
)

// AskerLimit is the maximum number of senders of signals that are recorded as the askers of a
// response. It also limits the length of State.SignalKeys.
const AskerLimit = 1000

// LooseBlobAge is how long an uploaded blob may wait for the commit that refers to it.
const LooseBlobAge = time.Hour

// AloneScore is a limit for perdure.Execution.Crashes, a score of lost leases. An execution with
// this score or a higher one must run alone in its worker. Three lost leases in a row reach it.
const AloneScore = 6

// Pick describes a search for executions or tasks, the candidates. The search runs in the command's
// transaction. Decide runs for each candidate.
//
// PickAgents chooses at most one execution that must run alone in its worker. That execution is
// ordered like the others, but does not count towards Limit. State.Holds tells the decision whether
// the worker can run it. PickTasks enforces the limits of tasks. It counts the tasks that the same
// pick has already chosen, so all chosen tasks can be claimed.
type Pick struct {
	Kind   PickKind
	Queues []string // queues to search, for PickAgents and PickTasks; an empty list matches nothing
	Kinds  []string
	Limit  int // maximum number of candidates; 0 means 100

	// Worker is the id of the claiming worker, for PickAgents. State.Holds describes the executions
	// that this worker has claimed.
	Worker uuid.UUID
	// AloneOnly makes PickAgents choose only the execution that must run alone.
	AloneOnly bool
	// Skip, if set, reports whether to leave an execution out. The parameter `ready` is the time at
	// which the execution became PENDING. Skip is called in the committer and must not block.
	Skip func(execution uuid.UUID, ready perdure.Time) bool
	// QueueLimits contains the maximum number of running tasks of one org by queue, for PickTasks.
	QueueLimits map[string]int
	// Grace is how long ago the AttemptDue of a task must have passed before PickAttempts chooses
	// the task.
	Grace time.Duration
	// AskedSince limits PickQuestions to questions that were created at or after this time; zero
	// means all.
	AskedSince perdure.Time
	// Home is the id of a worker, for PickAgents. Only LOCAL executions with this home worker, or
	// without a home worker, are chosen. If Home is nil, no LOCAL executions are chosen.
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
	// Named reports that a closed block has no content of its own, because an entry has the same
	// text, to which the block's row refers. The store sets Named, in whatever order the block and
	// the entry are stored. Commands only read it.
	Named bool
	// Content refers to the blob with the content of a closed block of a LOCAL execution. A
	// decision sets Content; a Block that the store has loaded does not contain it.
	Content *perdure.BlobRef
	// Event reports that the sender of the block has used the block's number for an event (see
	// perdure.BlockKey), so there is no block with that number. The row has neither content nor
	// chunks.
	Event bool
}

// Blob is the row of a blob. The blob is complete when Held equals Length. An incomplete blob to
// which a commit refers is withheld: only the home worker has the content, and readers return the
// reference to the blob.
type Blob struct {
	ID     uuid.UUID
	Length int64
	Held   int64
	Digest []byte
	SHA256 perdure.Hash // set once the blob is complete
	Owned  bool         // a commit refers to the blob
	// Staged is the number of received bytes of a withheld blob. Readers do not see them until
	// Changes.Unveil is set.
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
// it. An empty schema accepts every output.
type KindOutput struct {
	Schema json.RawMessage `json:"schema,omitempty"`
	SeenAt perdure.Time    `json:"seenAt"`
}

// KindSignal is a signal that workers have registered for a kind, with the time of the newest
// registration of the signal with this schema.
type KindSignal struct {
	perdure.SignalSpec
	SeenAt perdure.Time `json:"seenAt"`
}

// Store is the contract that a database implements for the engine. It is safe for concurrent use.
type Store interface {
	// Do commits a command, and returns the answer of the command's decision. For a command with a
	// Pick, it returns one answer for each candidate that the command has changed. An error of
	// Decide is returned unchanged. Errors: unavailable if the outcome may be unknown.
	Do(ctx context.Context, c Command) ([]any, error)
	// Epoch returns the store's epoch, a number that changes when the store is restored or copied.
	Epoch() uint64
	// Now returns the store's time.
	Now() perdure.Time
	// Tidy does work that the store has deferred. A server calls it several times per second, so
	// Tidy must cost little if no work was deferred.
	Tidy(ctx context.Context) error
	Reader
	Close() error
}

// TextBlock is the text index of a block of executions, that is, of a range of execution numbers.
// It is written only if the block still contains the executions whose texts were read.
type TextBlock struct {
	Block int64
	// Numbers are the numbers of the executions in the block, in ascending order.
	Numbers []int64
	Parts   [][]byte
	// Stale is set by the store if it has not written the index, because the executions of the block
	// have changed.
	Stale bool
}

// TextAge is the minimum age of an execution before executions with lower numbers are indexed. In a
// store with concurrent transactions, an execution with a lower number may be committed after one
// with a higher number. After TextAge, these transactions have ended.
const TextAge = time.Minute
