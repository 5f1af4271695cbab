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

// SignalKeyLimit is the maximum length of State.SignalKeys.
const SignalKeyLimit = 1000

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
	// Home is the worker for which PickAgents chooses LOCAL executions: those with that home, and
	// those without a home. Nil chooses no LOCAL executions.
	Home *uuid.UUID
	// Features are those of the worker, for PickAgents and PickTasks: they choose nothing that needs
	// others.
	Features perdure.Features
}

// Needs lists the data on which a command decides.
type Needs struct {
	Tasks      []uuid.UUID
	OpenTasks  bool // all tasks that have not ended
	HeldTasks  bool // all tasks that are RUNNING
	Entries    []uuid.UUID
	EntryKeys  []string
	CallNames  bool // the tools of the calls that are open at Entries
	SignalIDs  []string
	Patterns   []string // pending signals that match; the oldest 1000, in addition to SignalIDs
	Taken      bool     // signals taken and not consumed
	Blocks     []perdure.BlockKey
	TaskBlocks []uuid.UUID // all open blocks of these tasks
	OpenBlocks bool        // all open blocks of the execution, including its tasks' blocks
	// AttemptBlocks adds the blocks that the newest attempts of the loaded tasks have closed,
	// unless the task has ended. Superseded blocks are left out.
	AttemptBlocks bool
	Blobs         []uuid.UUID
	// Questions are questions by id; OpenQuestions adds all open ones of the execution. SignalKeys
	// requests State.SignalKeys, if one of the questions excludes its askers.
	Questions     []uuid.UUID
	OpenQuestions bool
	SignalKeys    bool
	// DueQuestions adds the open questions that have expired. PickQuestions requests it itself.
	DueQuestions bool
	// Grants requests State.Grants. ChangeGrants is set if the command may change the grants of the
	// org, which no other command then reads.
	Grants       bool
	ChangeGrants bool
	// Worker selects what a worker holds. ConcurrencyKeys and Queues select what runs under them in
	// the execution's org. A pick of PickAgents or PickTasks loads those of the candidate without
	// being asked.
	Worker          *uuid.UUID
	ConcurrencyKeys []string
	Queues          []string
	Retention       bool // how long the data of the execution is kept
	Withheld        int  // maximum number of withheld blobs to load that are not staged completely: see Blob

	// Data outside of executions; the command's Org applies.
	Definition  *uuid.UUID
	Slug        string
	Idempotency string
	KeyID       *uuid.UUID
	Session     *uuid.UUID
	Org         bool // the command's org
	// Conversation is the id of a conversation of the command's org.
	Conversation string
	// UseOf is the key whose limits are decided on: see State.Limited. For an existing stream, the
	// key that created the stream is used instead.
	UseOf *uuid.UUID
	// Stream is the path of a stream. Producer is the id of one of its producers.
	Stream   string
	Producer string
	// StreamCount selects the number of the org's streams, if Stream does not exist.
	StreamCount bool
	Kinds       bool // the kinds of the org
	// Webhook is a webhook of the command's org, unless it is deleted. Waiting adds the number of its
	// pending deliveries. WebhookCount selects the number of the org's webhooks.
	Webhook      *uuid.UUID
	Waiting      bool
	WebhookCount bool
	// Grant is a grant of the command's org that the command may delete.
	Grant *uuid.UUID
	// Delivery is a delivery of the command's org. Due are deliveries that are to be sent now.
	Delivery *DeliveryKey
	Due      []DeliveryPick
	// Workers requests State.WorkerCount, and permits the changes of workers.
	Workers bool
	// Pause is the name of a queue of the command's org: see State.Pause.
	Pause string
}

// State is the data on which a command decides. Contents (input, result, value) are not loaded.
// Rows that do not exist are missing in the maps.
type State struct {
	Now perdure.Time
	// Nonce is a random number of the transaction, never 0. Every record that the command writes
	// has it, and so has the head after them. A command that runs again after a rollback gets a new
	// one.
	Nonce      uint32
	Execution  *perdure.Execution // a copy; nil if none
	Head       Head
	PickedTask *uuid.UUID // for PickTasks, PickExpiredTasks, PickTaskDeadlines; also in Tasks

	Tasks   map[uuid.UUID]*perdure.Task // requested ones, and open or held ones if requested
	Entries map[uuid.UUID]perdure.EntryHead
	Keyed   map[string]perdure.EntryHead // by entry key
	// CallNames are the names of tools by call id. Names in LOCAL executions are stored only at
	// their workers and are missing here.
	CallNames map[string]string
	Signals   map[string]*perdure.Signal
	Pending   []perdure.Signal // match Patterns, oldest first, without values
	Taken     []perdure.Signal // in the order in which they were taken
	Blocks    map[perdure.BlockKey]*Block
	Blobs     map[uuid.UUID]*Blob
	// Questions are the requested questions, whole. The decision may modify them.
	Questions map[uuid.UUID]*perdure.Question
	// SignalKeys are the keys of the signals of the execution that are taken or consumed, each once,
	// at most SignalKeyLimit; uuid.Nil stands for the token of the data directory.
	SignalKeys []uuid.UUID
	// Grants are those of the execution and of its definition, without the ones that have expired, the
	// oldest first. They are exact.
	Grants []*perdure.ApprovalGrant
	// Retention is the org's policy, overridden by the definition's policy as of the start, with
	// all defaults filled in.
	Retention perdure.Retention

	// The following fields also depend on other executions. They are exact: no two committed
	// transactions have both used the same free place of a limit. Only Holds may miss what is
	// claimed concurrently, in the same pick or elsewhere, as long as neither that nor this
	// execution must run alone.
	Holds  Holding
	Keys   map[string]Load // by concurrency key
	Queues map[string]Load
	// Withheld are some of the blobs whose content is neither stored nor staged completely.
	Withheld []Blob

	Grant       *perdure.ApprovalGrant // nil if none, or if it has expired
	Definition  *perdure.Definition    // by id
	BySlug      *perdure.Definition
	Idempotency *Idempotency // not expired
	Key         *perdure.APIKey
	Session     *perdure.Session // may have expired
	// Conversation is exact: the commands of a conversation are decided one after the other.
	Conversation *Conversation
	Org          *perdure.Org
	// Limited is the key of Needs.UseOf, revoked or not; nil if it belongs to another org. Its Use
	// is set only if the key has limits for which the store counts, with only these counts. It is
	// exact: no two commands can both use the same part of a limit.
	Limited  *perdure.APIKey
	Stream   *Stream
	Producer *StreamProducer
	// Streams and Kinds are exact: no two commands see the same values.
	Streams int
	Kinds   []Kind

	// Webhooks are the enabled webhooks of the execution's org, for every command on an execution.
	// They are those of committed transactions when this one began, or newer. They must not be
	// modified.
	Webhooks []*perdure.Webhook
	// Webhook and WebhookCount are exact. Waiting counts at most perdure.MaxUndelivered+1.
	Webhook      *perdure.Webhook
	Waiting      int
	WebhookCount int
	Delivery     *perdure.Delivery
	// Due are pending deliveries that no other transaction takes, of each webhook the longest due
	// first.
	Due []*perdure.Delivery
	// WorkerCount is the number of stored workers of the org.
	WorkerCount int
	// Pause is the pause of the queue Needs.Pause; nil if the queue is not paused. PauseCount is the
	// number of paused queues of the org. Both are exact.
	Pause      *perdure.QueuePause
	PauseCount int
}

// Holding reports whether a worker holds executions, that is, has claimed them and not yet released
// them.
type Holding struct {
	Executions bool // the worker holds an execution
	Alone      bool // an execution that must run alone
}

// Load is the load of a concurrency key or a queue in one org.
type Load struct {
	Running int
	// Waiting reports whether there is a task that may be claimed if limits are ignored.
	Waiting bool
}

// Head is the row with the end of an execution's log. It is locked for appending.
type Head struct {
	LastSeq int64
	LastPos int64
	Epoch   uint64 // random, created with the execution
	// Nonce is the nonce of the record at LastPos.
	Nonce uint32
	// FirstPos is the position of the first stored record, 0 if no record is pruned. Readers return
	// it; decisions do not see it.
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

// Changes is what a command has decided to write. The zero value changes nothing.
type Changes struct {
	// Answer is returned to the caller of Do once the changes are durable.
	Answer any

	// Execution is the whole row, inserted or replaced. If Input or Output is nil, the stored
	// content remains.
	Execution *perdure.Execution
	// Head is the log's head after Records.
	Head *Head
	// Timer replaces the execution's timer; a zero time deletes it.
	Timer *perdure.Time

	// Entries are new. Texts that they repeat are stored once, with the entry. That applies to
	// closed blocks of the execution, to the results of the tasks from which the entries were made,
	// and to events of the same commit. Reads return the same as before: see EntryTexts and
	// FindStretch.
	Entries    []Entry
	Checkpoint *perdure.Checkpoint
	// Tasks are whole rows, inserted or replaced. If Input or Result is nil, the stored content
	// remains.
	Tasks     []*perdure.Task
	Signals   []perdure.Signal    // new ones
	Questions []*perdure.Question // whole rows, inserted or replaced
	// Grant is inserted. The grants of its run or definition that have expired are deleted.
	Grant        *perdure.ApprovalGrant
	DropGrant    *uuid.UUID // deleted, if it belongs to the command's org
	Take         []string   // ids, at this checkpoint number (Execution.CheckpointSeq)
	ConsumeTaken bool
	Records      []perdure.Record   // with pos and seq; events and chunks
	ChunkKeys    []perdure.BlockKey // the block of each record that is a chunk, in order of those records
	Blocks       []Block            // inserted or replaced; a block that closes is compacted, a superseded one loses its content
	OwnBlobs     []uuid.UUID
	Blob         *Blob  // inserted or replaced
	BlobChunk    []byte // appended to Blob, at BlobChunkAt
	BlobChunkAt  int64
	// Withhold creates blobs that commits refer to and that have no content. An existing blob
	// remains as it is.
	Withhold []perdure.BlobRef
	// Erase deletes the content of complete blobs, which are then withheld.
	Erase []uuid.UUID
	// Stage stores pieces of withheld blobs, in order and without gaps. No reader sees them until
	// Unveil makes every fully staged blob of the execution complete.
	Stage  []Staged
	Unveil bool
	// EraseSignals deletes the values of all signals of the execution. In a LOCAL execution,
	// ConsumeTaken already deletes the values of consumed signals.
	EraseSignals bool
	// SweepBlobs deletes the blobs begun more than LooseBlobAge ago that no commit refers to.
	SweepBlobs bool
	// Prune deletes data of the execution whose retention period is over.
	Prune *Prune
	// Free returns at most that many unused pages of the store to the file system. SweepReader.Unused
	// reports how many there are.
	Free int
	// Texts is the index of a block of executions.
	Texts *TextBlock

	// Responses are new responses to new inputs. Join marks those whose inputs another response has
	// taken up. HideResponse is the id of a response that is hidden.
	Responses    []Response
	Join         []Join
	HideResponse string
	Conversation *ConversationChange
	// EndResponse sets the history of a response, once.
	EndResponse *ResponseEnd

	// Retention replaces the policy of the command's Org. Retain is the policy of the new
	// execution's definition.
	Retention *perdure.Retention
	Retain    *perdure.Retention

	Definition       *perdure.Definition // inserted or replaced
	DeleteDefinition *uuid.UUID          // executions keep their copies, their references become null
	Idempotency      *Idempotency
	// Key is inserted or replaced. Revoking a key deletes its sessions.
	Key *perdure.APIKey
	// Session is new. The oldest sessions of the same key beyond
	// perdure.SessionsPerKey are deleted.
	Session    *perdure.Session
	EndSession *uuid.UUID // deleted, if it belongs to the command's org
	// SweepSessions deletes at most that many expired sessions.
	SweepSessions int
	Org           *perdure.Org         // inserted or replaced
	Secret        *Secret              // inserted, unless one with its name exists
	Audit         *perdure.AuditRecord // appended
	Kinds         []Kind               // stored per org
	Stream        *StreamChange
	// DropStreams deletes about that many rows of deleted streams. SweepReader.DeadStreams reports
	// whether there are any.
	DropStreams int

	// Webhook is inserted or replaced. A webhook with DeletedAt is deleted together with its
	// deliveries, step by step: see SweepDeliveries.
	Webhook *perdure.Webhook
	// Deliveries are inserted or replaced.
	Deliveries []*perdure.Delivery
	// Deaden is a webhook whose pending deliveries become dead.
	Deaden *uuid.UUID
	// ReturnDeliveries makes the deliveries that are being sent due at once.
	ReturnDeliveries bool
	// SweepDeliveries deletes at most that many deliveries: those of deleted webhooks, and those whose
	// RemoveAt is over.
	SweepDeliveries int

	// Workers are inserted or replaced. SeenWorkers are workers of the command's org that were seen
	// at the time of the commit; those without a row are ignored. ForgetWorkers deletes the org's
	// workers that were last seen before this time. All of them need Needs.Workers.
	Workers       []*perdure.WorkerInfo
	SeenWorkers   []uuid.UUID
	ForgetWorkers *perdure.Time
	// PauseQueue is inserted or replaced. ResumeQueue is the name of a queue of the command's org
	// whose pause is deleted.
	PauseQueue  *perdure.QueuePause
	ResumeQueue string
}

// Staged is a piece of a withheld blob.
type Staged struct {
	ID      uuid.UUID
	At      int64
	Content []byte
}

// Entry is an entry to insert, with the calls that are open after it. Covers is what a compaction
// covers.
type Entry struct {
	perdure.Entry
	Open   []string
	Covers *perdure.CompactionRange
}

// Secret is a random secret of the installation from which keys are derived. It never changes.
type Secret struct {
	Name      string
	Value     []byte
	CreatedAt perdure.Time
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
