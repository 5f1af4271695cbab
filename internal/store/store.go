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
	"io"
	"iter"
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
	// decides anew whether it really is one.
	Pick *Pick
	// Needs says what to load, from the execution's row (nil if none). A nil
	// Needs loads the row alone.
	Needs func(x *perdure.Execution) Needs
	// Decide must be pure: it may run again from fresh state. It may change
	// what State points to. Nil changes without an error change nothing.
	Decide func(s *State) (*Changes, error)
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

// AloneCrashes is how many expired leases since its last checkpoint make an
// execution one that has to be alone in its worker.
const AloneCrashes = 3

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
	// UseOf is a key whose limits are decided on: State.Limited. Of a stream that
	// is there it is the one that the stream was made with, unasked.
	UseOf *uuid.UUID
	// Stream is the path of a stream, Producer the id of one of its producers.
	Stream   string
	Producer string
}

// State is what a command decides on. Contents (input, result, value) are not
// loaded; rows that do not exist are absent from the maps.
type State struct {
	Now        perdure.Time
	Execution  *perdure.Execution // a copy; nil if none
	Head       Head
	PickedTask *uuid.UUID // for PickTasks, PickExpiredTasks, PickTaskDeadlines; in Tasks too

	Tasks   map[uuid.UUID]*perdure.Task // asked for, and open or held ones if asked for
	Entries map[uuid.UUID]perdure.EntryHead
	Keyed   map[string]perdure.EntryHead // by entry key
	Signals map[string]*perdure.Signal
	Pending []perdure.Signal // match Patterns, oldest first, values not loaded
	Taken   []perdure.Signal // in the order taken
	Blocks  map[perdure.BlockKey]*Block
	Blobs   map[uuid.UUID]*Blob
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
	// Limited is the key of Needs.UseOf, if it is not of another org, revoked or
	// not. Its Use is there only if the store counts for its limits, and only
	// what it counts for them. It is exact: no two commands see the same room.
	Limited  *perdure.APIKey
	Stream   *Stream
	Producer *StreamProducer
}

// Holding is what a worker holds.
type Holding struct {
	Executions bool // any
	Alone      bool // one that has to be alone
}

// Load is what is under a concurrency key, or on a queue, in one org.
type Load struct {
	Running int
	// Waiting tells whether a task is there that may be claimed but for limits.
	Waiting bool
}

// Head is the narrow row of a log that is locked to append to it.
type Head struct {
	LastSeq int64
	LastPos int64
	Epoch   uint64 // random, made with the execution
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
	// system; Reader.Unused tells how many there are.
	Free int

	// Responses are new ones, of new inputs. Join marks those whose inputs were
	// taken up by another; HideResponse is the id of one that is not to be found
	// by it any more.
	Responses    []Response
	Join         []Join
	HideResponse string

	// Retention replaces the policy of the command's Org; Retain is what the new
	// execution's definition says of it.
	Retention *perdure.Retention
	Retain    *perdure.Retention

	Definition       *perdure.Definition // inserted or replaced
	DeleteDefinition *uuid.UUID          // executions keep their copy, the reference becomes null
	Idempotency      *Idempotency
	Key              *perdure.APIKey
	Audit            *perdure.AuditRecord // appended
	Kinds            []Kind               // remembered per org
	Stream           *StreamChange
	// DropStreams deletes about that many rows at most of streams that are
	// marked; Reader.DeadStreams tells whether there are any.
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

// Kind is a kind that a worker has registered.
type Kind struct {
	Org    string
	Agent  bool // else a task's
	Spec   perdure.KindSpec
	SeenAt perdure.Time
}

// Store is a database.
type Store interface {
	// Do commits a command. It gives the answers of its decisions (one, or one
	// for each candidate that was picked and changed). An error of Decide comes
	// back as it is; unavailable says that the outcome may be unknown.
	Do(ctx context.Context, c Command) ([]any, error)
	// Epoch is the store's: it changes when the store is restored or copied.
	Epoch() uint64
	// Now is the store's time.
	Now() perdure.Time
	Reader
	Close() error
}

// ExecutionFilter narrows a list of executions. Zero fields do not narrow.
type ExecutionFilter struct {
	Status        []perdure.Status
	Kind          string
	DefinitionID  *uuid.UUID
	CreatedAfter  *perdure.Time
	CreatedBefore *perdure.Time
	Metadata      map[string]string // top-level members, compared as text
	Query         string            // in the id, kind, or the input's text
	Cursor        string
	Limit         int
}

// Reader reads. Every method that takes an org answers not_found for what is
// another org's. Reads are short transactions that see only what is committed
// and never block a writer. Contents are loaded, blobs joined in, unless said
// otherwise. In the place of a content that is withheld its reference is given.
type Reader interface {
	Execution(ctx context.Context, org string, id uuid.UUID) (*perdure.Execution, error)
	// HeldBy gives the executions of the org on which the worker has a lease.
	HeldBy(ctx context.Context, org string, worker uuid.UUID) ([]uuid.UUID, error)
	// Executions lists newest first, without input and output contents.
	Executions(ctx context.Context, org string, f ExecutionFilter) (Page[*perdure.Execution], error)

	// Path gives the entries from after (exclusive; nil: the root) to leaf, in
	// order, reading a few at a time; newest > 0 bounds it to the last that many,
	// the leaf included. A content that is a blob is left as Blob if lazy is set.
	// not_found if the leaf is none, or after is not on its path.
	Path(ctx context.Context, execution uuid.UUID, leaf uuid.UUID, after *uuid.UUID, newest int, lazy bool) iter.Seq2[perdure.Entry, error]
	Entry(ctx context.Context, execution, id uuid.UUID) (*perdure.Entry, error)
	// EntriesOf gives entries by id, in the order asked, in one go for all, also
	// from a lazy reader. Contents in blobs of at most that many bytes are joined
	// in, others left as references. It ends early rather than give more than
	// about PageBytes: the next call goes on. not_found if there is no such entry.
	EntriesOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, most int64) ([]perdure.Entry, error)
	// AllEntries lists every entry, oldest first.
	AllEntries(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[perdure.Entry], error)

	// Checkpoint gives one by number, the newest for 0; not_found if none.
	Checkpoint(ctx context.Context, execution uuid.UUID, sequence int64) (*perdure.Checkpoint, error)
	Checkpoints(ctx context.Context, execution uuid.UUID, cursor string, limit int) (Page[*perdure.Checkpoint], error)

	// Tasks gives tasks by id, in the order asked; nil where there is none. With
	// lazy, inputs and results that are blobs are left as references.
	Tasks(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, lazy bool) ([]*perdure.Task, error)
	// ListTasks lists oldest first, steps left out unless asked for.
	ListTasks(ctx context.Context, execution uuid.UUID, steps bool, cursor string, limit int) (Page[*perdure.Task], error)

	// PendingSignals gives those that match any pattern (all for none) and whose
	// order is over after, oldest first, with values: at most limit, and about
	// 1 MiB, of them.
	PendingSignals(ctx context.Context, execution uuid.UUID, patterns []string, after int64, limit int) ([]perdure.Signal, error)
	// Signal gives one by its id, with its value; not_found if none.
	Signal(ctx context.Context, execution uuid.UUID, id string) (*perdure.Signal, error)
	// Response gives the row of a response by its id, hidden ones too; not_found
	// if none.
	Response(ctx context.Context, org, id string) (*Response, error)
	// TakenSignals gives those taken and not consumed, in the order taken.
	TakenSignals(ctx context.Context, execution uuid.UUID) ([]perdure.Signal, error)

	// Log gives the records after pos in order, at most limit (and about 1 MiB)
	// of them, and the head as of the same moment. The chunks of a superseded
	// block keep their positions and offsets, and have no text. The execution's MaxSeq is that of the head.
	// Those of a block that is withheld have no text, and their length.
	Log(ctx context.Context, execution uuid.UUID, after int64, limit int) ([]perdure.Record, Head, error)
	LogHead(ctx context.Context, execution uuid.UUID) (Head, error)
	// LogHeads gives the heads of many logs with one query; executions that are
	// none have none.
	LogHeads(ctx context.Context, executions []uuid.UUID) (map[uuid.UUID]Head, error)
	// Events gives the events of the log with seq in (after, upTo], in order, and
	// the head as of the same moment. A block is given whole, as it is at the
	// head. It gives fewer where there are not so many, or where they would be
	// over about 1 MiB: the next read goes on after the last.
	Events(ctx context.Context, execution uuid.UUID, after, upTo int64) ([]Event, Head, error)
	// BlocksAcross gives, with their content, the blocks of up to seq n that are
	// open or were closed by an event after n, oldest first, without those that
	// are superseded by now, the position before event n+1 begins (the head's if
	// there is none), and the head.
	BlocksAcross(ctx context.Context, execution uuid.UUID, n int64) ([]BlockContent, int64, Head, error)
	// OpenBlocks gives the blocks that are open at the head, with their content.
	OpenBlocks(ctx context.Context, execution uuid.UUID) ([]BlockContent, Head, error)

	// Lazy gives the same reader, but contents that rest in blobs are left as
	// references by all its methods, whatever they are asked.
	Lazy() Reader
	// Together lets several reads see one moment, for the cost of one: what it
	// gives is a reader for the time of the call.
	Together(ctx context.Context, read func(Reader) error) error

	// Retention gives the org's policy; nil if none was set.
	Retention(ctx context.Context, org string) (*perdure.Retention, error)
	// Orgs lists the orgs that have executions.
	Orgs(ctx context.Context) ([]string, error)
	// Prunable gives a page of executions of which the policies keep something
	// no longer. Those that only a longer look would find may be left to a later
	// query, never the other way round.
	Prunable(ctx context.Context, q PruneQuery) (Page[Prunable], error)
	// Unused gives the number of pages that the store holds without need, and
	// their size; 0 where they cannot be given back.
	Unused(ctx context.Context) (pages, pageSize int64, err error)

	// Blob reads a blob in pieces.
	Blob(ctx context.Context, execution, id uuid.UUID) (io.ReadCloser, error)
	// BlobRow gives a blob's row without its digest, whole or not; not_found if
	// there is none.
	BlobRow(ctx context.Context, execution, id uuid.UUID) (*Blob, error)
	// BlobOf gives the row of a whole blob with that content, named by a row of
	// the execution; not_found if there is none.
	BlobOf(ctx context.Context, execution uuid.UUID, sum perdure.Hash) (*Blob, error)

	// Stream gives a stream by its path; not_found if there is none.
	Stream(ctx context.Context, org, path string) (*Stream, error)
	// StreamContent gives the rows of a stream that hold what follows the
	// position, in order, and the stream as of the same moment: at most that
	// many bytes, but at least one row if there is any; none for 0 bytes. The
	// first may begin before the position. not_found once the stream is deleted.
	StreamContent(ctx context.Context, id uuid.UUID, after int64, bytes int) ([]StreamPiece, *Stream, error)
	// DeadStreams tells whether rows of deleted streams are left.
	DeadStreams(ctx context.Context) (bool, error)

	Definition(ctx context.Context, org string, id uuid.UUID) (*perdure.Definition, error)
	DefinitionBySlug(ctx context.Context, org, slug string) (*perdure.Definition, error)
	Definitions(ctx context.Context, org string, cursor string, limit int) (Page[*perdure.Definition], error)
	// KeyByHash gives a key that is not revoked; not_found otherwise.
	KeyByHash(ctx context.Context, hash perdure.Hash) (*perdure.APIKey, error)
	// Keys lists those of an org, oldest first, revoked ones too, with their Use.
	Keys(ctx context.Context, org string) ([]*perdure.APIKey, error)
	// AuditLog lists what the org's audit log holds, newest first.
	AuditLog(ctx context.Context, org, cursor string, limit int) (Page[perdure.AuditRecord], error)
	AnyKey(ctx context.Context) (bool, error)
	Kinds(ctx context.Context, org string) ([]Kind, error)
	// NextDue gives the earliest moment at which PickTimers, PickTasks' NotBefore
	// or PickAgents' NotBefore finds something new; false if none.
	NextDue(ctx context.Context) (perdure.Time, bool, error)
	Counter
}

// Event is an event of a log by its seq: its record, or a block whole.
type Event struct {
	Seq    int64
	Record *perdure.Record // nil for a block
	Block  *BlockContent
}

// BlockContent is a block and what it holds: nothing, once it is superseded.
type BlockContent struct {
	Block
	Content string
	// Pieces says, of a block that is withheld, where its pieces are in the log:
	// Content is empty.
	Pieces []Piece
}

// Piece is the place of a piece of a block.
type Piece struct {
	Pos, Length int64
}
