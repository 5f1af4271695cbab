// Package store is the contract between the engine, which decides, and a
// database, which commits. Everything is written through Do, by one committer;
// everything else reads.
//
// A command names the execution that it is about, or how to pick candidates.
// The committer locks those executions, loads the state that the command
// needs, lets it decide, applies the changes and, once the transaction is
// durable, answers. Many commands share a transaction; those of one execution
// keep their order; one that is refused leaves its neighbours alone.
package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Lane is a priority class of the committer, the first the most urgent.
type Lane int

const (
	LaneClaims  Lane = iota // renewals and claims
	LaneCommits             // commits, ends of tasks, what clients ask for
	LaneChunks              // pieces of blocks and blobs
	LaneSweeps              // timers, expired leases, retention
)

// Lanes is how many there are.
const Lanes = 4

// Command is one write.
type Command struct {
	// Name is the verb, for logs and traces.
	Name string
	Lane Lane
	// Org bounds what the command can see: an execution of another org is as
	// good as none. "" sees all, for the server's own sweeps.
	Org string
	// Execution is what the command is about; State.Execution is nil if there
	// is none of that id. It is not used if Pick is set.
	Execution uuid.UUID
	// Pick chooses candidates in the transaction; Decide runs for each, and
	// decides again whether it really is one.
	Pick *Pick
	// Needs says what to load, from the execution's row (nil if none), which it
	// does not change: Decide is given the same one. A nil Needs loads the row alone.
	Needs func(x *perdure.Execution) Needs
	// Decide must be pure: it may run again from fresh state. It may change
	// what State points to. Nil changes without an error change nothing.
	Decide func(s *State) (*Changes, error)
	// Frees says that the command runs on a full disk, too: it deletes, or it is a
	// small one that no start can do without.
	Frees bool
	// Bytes is about how much the command carries; it bounds a batch.
	Bytes int
}

// PickKind says what a pick looks for.
type PickKind int

const (
	PickAgents        PickKind = iota // PENDING executions that may be claimed, longest pending first; see Pick
	PickTasks                         // PENDING tasks that may be claimed and whose limits have room, by priority, then oldest
	PickTimers                        // executions whose timer is due
	PickExpiredAgents                 // RUNNING or CANCELLING, lease over
	PickExpiredTasks                  // RUNNING, lease over
	PickEmbedded                      // leases of embedded workers, agents' and tasks' (each execution once)
	PickCancelOverdue                 // CANCELLING past CancelBy
	PickTaskDeadlines                 // not ended tasks past schedule-to-close
	PickAttempts                      // RUNNING tasks whose AttemptDue is Pick.Grace ago
	PickLooseBlobs                    // executions with blobs begun over LooseBlobAge ago that no commit has named
	PickPruned                        // executions marked by Changes.Prune whose rows are not all deleted
)

// LooseBlobAge is how long an uploaded blob may wait for the commit that names
// it.
const LooseBlobAge = time.Hour

// AloneScore is the score of lost leases from which an execution has to be alone
// in its worker: that of three in a row.
const AloneScore = 6

// Pick chooses candidates.
//
// PickAgents gives, among the others and by the same order, at most one
// execution that has to be alone, beyond Limit; State.Holds tells the decision
// whether it can be. PickTasks keeps to the limits also for what it has chosen
// before in the same pick: nobody is chosen who could not be claimed after those.
type Pick struct {
	Kind   PickKind
	Queues []string // for PickAgents and PickTasks: any of these; none matches nothing
	Kinds  []string
	Limit  int // candidates at most; 0 stands for 100

	// Worker is who claims, for PickAgents: State.Holds is about it.
	Worker uuid.UUID
	// AloneOnly leaves all out but the one that has to be alone.
	AloneOnly bool
	// Skip, if set, leaves executions out that it says true for, by when they
	// became PENDING. It is called in the committer, and must not block.
	Skip func(execution uuid.UUID, ready perdure.Time) bool
	// QueueLimits bounds, for PickTasks, how many tasks of one org run at once
	// on a queue.
	QueueLimits map[string]int
	// Grace is PickAttempts'.
	Grace time.Duration
	// Home is the worker that PickAgents picks LOCAL executions for: those whose
	// home it is, and those that have none yet. Nil picks no LOCAL ones.
	Home *uuid.UUID
}

// Needs says what of an execution a command decides on.
type Needs struct {
	Tasks      []uuid.UUID
	OpenTasks  bool // all tasks that have not ended
	HeldTasks  bool // all tasks that are RUNNING
	Entries    []uuid.UUID
	EntryKeys  []string
	CallNames  bool // the tools of the calls that are open at Entries
	SignalIDs  []string
	Patterns   []string // pending signals that match, the oldest 1000 of them beside SignalIDs
	Taken      bool     // signals taken and not consumed
	Blocks     []perdure.BlockKey
	TaskBlocks []uuid.UUID // all open blocks of these tasks
	OpenBlocks bool        // all open blocks of the execution, its tasks' too
	// AttemptBlocks asks, beside those, for the blocks that the newest attempts of
	// the tasks that are loaded have closed, unless the task has ended. Superseded
	// ones are left out.
	AttemptBlocks bool
	Blobs         []uuid.UUID
	// Worker asks what a worker holds; ConcurrencyKeys and Queues what runs
	// under them in the execution's org. For what a pick of PickAgents or
	// PickTasks has picked they are there unasked.
	Worker          *uuid.UUID
	ConcurrencyKeys []string
	Queues          []string
	Retention       bool // how long what is left of the execution is kept
	Withheld        int  // at most that many of the blobs that are neither whole nor staged

	// Outside of executions; the command's Org applies.
	Definition  *uuid.UUID
	Slug        string
	Idempotency string
	KeyID       *uuid.UUID
	Session     *uuid.UUID
	Org         bool // the command's
	// Conversation is the id of a conversation of the command's org.
	Conversation string
	// UseOf is a key whose limits are decided on: State.Limited. Of a stream that
	// is there it is the one that the stream was made with, unasked.
	UseOf *uuid.UUID
	// Stream is the path of a stream, Producer the id of one of its producers.
	Stream   string
	Producer string
	// StreamCount asks how many streams the org has, where Stream is not there.
	StreamCount bool
	Kinds       bool // those of the org
}

// State is what a command decides on. Contents (input, result, value) are not
// loaded; rows that do not exist are absent from the maps.
type State struct {
	Now perdure.Time
	// Nonce is a random number of the transaction, never 0. Every record that the
	// command writes has it, and so has the head after them. A command that runs
	// again, after a rollback, is given another one.
	Nonce      uint32
	Execution  *perdure.Execution // a copy; nil if none
	Head       Head
	PickedTask *uuid.UUID // for PickTasks, PickExpiredTasks, PickTaskDeadlines; in Tasks too

	Tasks   map[uuid.UUID]*perdure.Task // asked for, and open or held ones if asked for
	Entries map[uuid.UUID]perdure.EntryHead
	Keyed   map[string]perdure.EntryHead // by entry key
	// CallNames are names of tools by call id. The names of LOCAL executions are
	// with their workers, and absent here.
	CallNames map[string]string
	Signals   map[string]*perdure.Signal
	Pending   []perdure.Signal // match Patterns, oldest first, values not loaded
	Taken     []perdure.Signal // in the order taken
	Blocks    map[perdure.BlockKey]*Block
	Blobs     map[uuid.UUID]*Blob
	// Retention is the org's, its definition's as of the start over it, with
	// all defaults filled in.
	Retention perdure.Retention

	// What follows is of other executions, too. It is exact: no two transactions
	// that are both committed have seen the same room. Only Holds may leave out what
	// is claimed beside it, in the same pick or elsewhere, as long as none of that
	// has to be alone, nor this one.
	Holds  Holding
	Keys   map[string]Load // by concurrency key
	Queues map[string]Load
	// Withheld are some of those that are neither whole nor staged.
	Withheld []Blob

	Definition  *perdure.Definition // by id
	BySlug      *perdure.Definition
	Idempotency *Idempotency // not expired
	Key         *perdure.APIKey
	Session     *perdure.Session // expired or not
	// Conversation is exact: the commands of a conversation are decided one after the
	// other.
	Conversation *Conversation
	Org          *perdure.Org
	// Limited is the key of Needs.UseOf, if it is not of another org, revoked or
	// not. Its Use is there only if the store counts for its limits, and only
	// what it counts for them. It is exact: no two commands see the same room.
	Limited  *perdure.APIKey
	Stream   *Stream
	Producer *StreamProducer
	// Streams and Kinds are exact: no two commands see the same ones.
	Streams int
	Kinds   []Kind
}

// Holding is what a worker holds.
type Holding struct {
	Executions bool // any
	Alone      bool // one that has to be alone
}

// Load is what is under a concurrency key, or on a queue, in one org.
type Load struct {
	Running int
	// Waiting reports whether a task is there that may be claimed but for limits.
	Waiting bool
}

// Head is the narrow row of a log that is locked to append to it.
type Head struct {
	LastSeq int64
	LastPos int64
	Epoch   uint64 // random, made with the execution
	// Nonce is that of the record at LastPos.
	Nonce uint32
	// FirstPos is the position of the first record that is kept, 0 if all are.
	// Readers give it; decisions do not see it.
	FirstPos int64
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
	// Digest is the running SHA-256 of an open block, as encoding.BinaryMarshaler
	// writes it; SHA256 is that of a closed one.
	Digest []byte
	SHA256 perdure.Hash
	Reason perdure.BlockReason // once closed
	// Named tells, of a closed block, that its content is a text of an entry,
	// which the row names instead of holding it. It is read, not written: the
	// store sees to it, in whatever order block and entry come.
	Named bool
	// Content is, of a closed block of a LOCAL execution, the blob that stands
	// for its content. It is written, not read.
	Content *perdure.BlobRef
	// Event marks the number of a source that was spent on an event, not a
	// block: it has neither content nor cuts.
	Event bool
}

// Blob is the row of a blob. It is whole when Held is Length; one that a commit
// names and that is not whole is withheld, and readers are given the reference.
type Blob struct {
	ID     uuid.UUID
	Length int64
	Held   int64
	Digest []byte
	SHA256 perdure.Hash // once whole
	Owned  bool         // a commit names it
	// Staged counts the bytes that are stored and not shown yet, ahead of the
	// commit that shows them.
	Staged int64
}

// Idempotency remembers a creation by its key, for 24 hours.
type Idempotency struct {
	Key         string
	RequestHash perdure.Hash
	Execution   uuid.UUID
	ExpiresAt   perdure.Time
}

// Changes are what a command decided. The zero value changes nothing.
type Changes struct {
	// Answer is handed to the caller of Do once the changes are durable.
	Answer any

	// Execution is the whole row, inserted if there was none. With Input or
	// Output nil, what is stored stays.
	Execution *perdure.Execution
	// Head is the log's head after Records.
	Head *Head
	// Timer replaces the execution's timer; a zero time deletes it.
	Timer *perdure.Time

	// Entries are new. What closed blocks of the execution, the results of the
	// tasks that they were made from and events of the same commit say again of
	// them rests once, with the entry, and reads as before: see EntryTexts and
	// FindStretch.
	Entries    []Entry
	Checkpoint *perdure.Checkpoint
	// Tasks are whole rows, inserted or replaced. With Input or Result nil, what
	// is stored stays.
	Tasks        []*perdure.Task
	Signals      []perdure.Signal // new ones
	Take         []string         // ids, at this checkpoint number (Execution.CheckpointSeq)
	ConsumeTaken bool
	Records      []perdure.Record   // with pos and seq; events and chunks
	ChunkKeys    []perdure.BlockKey // the block of each record that is a chunk, in order of those records
	Blocks       []Block            // inserted or replaced; one that turns from open to closed is compacted, and one that is superseded loses its content
	OwnBlobs     []uuid.UUID
	Blob         *Blob  // inserted or replaced
	BlobChunk    []byte // appended to Blob, at BlobChunkAt
	BlobChunkAt  int64
	// Withhold makes blobs that are owned and hold nothing. One that is there
	// already stays as it is.
	Withhold []perdure.BlobRef
	// Erase deletes the content of whole blobs, which are withheld from then on.
	Erase []uuid.UUID
	// Stage stores content of withheld blobs, in order and without a hole, which
	// no reader sees before Unveil makes every staged blob of the execution whole.
	Stage  []Staged
	Unveil bool
	// EraseSignals deletes the values of all signals of the execution. Those of a
	// LOCAL execution go with ConsumeTaken already, once they are consumed.
	EraseSignals bool
	// SweepBlobs deletes the blobs begun over LooseBlobAge ago that no commit
	// has named.
	SweepBlobs bool
	// Prune deletes what the execution is kept no longer for.
	Prune *Prune
	// Free gives at most that many unused pages of the store back to the file
	// system; Reader.Unused reports how many there are.
	Free int
	// Texts is the index of a block of executions.
	Texts *TextBlock

	// Responses are new ones, of new inputs. Join marks those whose inputs were
	// taken up by another; HideResponse is the id of one that is not to be found
	// by it any more.
	Responses    []Response
	Join         []Join
	HideResponse string
	Conversation *ConversationChange
	// EndResponse sets the history of a response, once.
	EndResponse *ResponseEnd

	// Retention replaces the policy of the command's Org; Retain is what the new
	// execution's definition says of it.
	Retention *perdure.Retention
	Retain    *perdure.Retention

	Definition       *perdure.Definition // inserted or replaced
	DeleteDefinition *uuid.UUID          // executions keep their copy, the reference becomes null
	Idempotency      *Idempotency
	// Key is inserted or replaced. One that is revoked loses its sessions.
	Key *perdure.APIKey
	// Session is new. The oldest sessions of the same key beyond
	// perdure.SessionsPerKey are deleted.
	Session    *perdure.Session
	EndSession *uuid.UUID // deleted, if it is of the command's org
	// SweepSessions deletes at most that many expired sessions.
	SweepSessions int
	Org           *perdure.Org         // inserted or replaced
	Secret        *Secret              // inserted, unless there is one of its name
	Audit         *perdure.AuditRecord // appended
	Kinds         []Kind               // remembered per org
	Stream        *StreamChange
	// DropStreams deletes about that many rows at most of streams that are
	// marked; Reader.DeadStreams reports whether there are any.
	DropStreams int
}

// Staged is a piece of a withheld blob.
type Staged struct {
	ID      uuid.UUID
	At      int64
	Content []byte
}

// Entry is an entry to insert, with the calls that are open after it.
type Entry struct {
	perdure.Entry
	Open []string
}

// Secret is a random secret of the installation, from which keys are derived. It never
// changes.
type Secret struct {
	Name      string
	Value     []byte
	CreatedAt perdure.Time
}

// Kind is a kind that a worker has registered.
type Kind struct {
	Org    string
	Agent  bool // else a task's
	Spec   perdure.KindSpec
	SeenAt perdure.Time
}

// Store is a database.
type Store interface {
	// Do commits a command. It returns the answers of its decisions (one, or one
	// for each candidate that was picked and changed). An error of Decide comes
	// back as it is; unavailable says that the outcome may be unknown.
	Do(ctx context.Context, c Command) ([]any, error)
	// Epoch is the store's: it changes when the store is restored or copied.
	Epoch() uint64
	// Now is the store's time.
	Now() perdure.Time
	// Tidy does what the store has put off, and is cheap where that is nothing: a
	// server calls it several times a second.
	Tidy(ctx context.Context) error
	Reader
	Close() error
}

// TextBlock is the index of the texts by which the executions of a block of numbers
// are found. It is not written if the block has changed since it was read.
type TextBlock struct {
	Block int64
	// Numbers are the executions that are in it, in their order.
	Numbers []int64
	Parts   [][]byte
	// Stale is set, by the store, if it was not written.
	Stale bool
}

// TextAge is how old an execution is before those with lower numbers are indexed,
// where several transactions run at once: each ends earlier.
const TextAge = time.Minute
