package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// State is the data on which a command decides. The contents of inputs, results and values are not
// loaded. Maps have no element for a row that does not exist.
type State struct {
	Now perdure.Time
	// Nonce is a random number of the transaction; it is never 0. It becomes the nonce of every
	// record that the command writes, and of the head of the log. If a command runs again after a
	// rollback, it gets a new nonce.
	Nonce     uint32
	Execution *perdure.Execution // a copy of the row; nil if the execution does not exist
	Head      Head
	// PickedTask is set by PickTasks, PickExpiredTasks and PickTaskDeadlines. The task is also in Tasks.
	PickedTask *uuid.UUID

	Tasks   map[uuid.UUID]*perdure.Task // the requested tasks, and all open or running ones if requested
	Entries map[uuid.UUID]perdure.EntryHead
	Keyed   map[string]perdure.EntryHead // entries by their keys
	// CallNames are the names of tools; the key is the id of the tool call. CallNames is empty in a
	// LOCAL execution, where only the home worker has the names.
	CallNames map[string]string
	Signals   map[string]*perdure.Signal
	Pending   []perdure.Signal // pending signals that match Needs.Patterns, oldest first, without values
	Taken     []perdure.Signal // signals in the order in which they were taken
	Blocks    map[perdure.BlockKey]*Block
	Blobs     map[uuid.UUID]*Blob
	// Questions are the requested questions, with all fields. The decision may modify them.
	Questions map[uuid.UUID]*perdure.Question
	Link      *perdure.QuestionLink // the link may have expired
	Links     []*perdure.QuestionLink
	// SignalKeys are the API keys that sent the signals which the execution has taken or consumed.
	// Each key is in the list once. The list has at most AskerLimit keys. uuid.Nil stands for the
	// token of the data directory.
	SignalKeys []uuid.UUID
	// Grants are the unexpired approval grants of the execution and of its definition, oldest first.
	// No other command changes them before this one is committed.
	Grants []*perdure.ApprovalGrant
	// Retention is the retention policy that applies to the execution: the periods of the
	// definition at the start of the execution, else those of the org, else the defaults.
	Retention perdure.Retention

	// The fields Holds, Keys and Queues also depend on other executions. Keys and Queues are exact,
	// so that two transactions cannot exceed a limit together. Holds may miss work that the worker
	// claims at the same time, but it never misses an execution that must run alone on the worker.
	// If this execution itself must run alone, Holds misses nothing.
	Holds  Holding
	Keys   map[string]Load // by concurrency key
	Queues map[string]Load
	// Withheld are some of the withheld blobs of which the server has not received all bytes: see
	// Needs.Withheld.
	Withheld []Blob

	Grant       *perdure.ApprovalGrant // nil if the grant does not exist or has expired
	Definition  *perdure.Definition    // the definition with the id Needs.Definition
	BySlug      *perdure.Definition
	Idempotency *Idempotency // nil if the idempotency key is unknown or has expired
	Key         *perdure.APIKey
	Session     *perdure.Session // the session may have expired
	// Conversation cannot change before this command is committed, because the commands of a
	// conversation are decided one after the other.
	Conversation *Conversation
	Org          *perdure.Org
	// Limited is the API key whose id is Needs.UseOf, even if the key is revoked. It is nil if the
	// key belongs to another org. Its Use has only the counts for limits that the key has. These
	// counts are exact, so that two commands cannot exceed a limit together.
	Limited  *perdure.APIKey
	Stream   *Stream
	Producer *StreamProducer
	// Streams is the number of the org's streams. Streams and Kinds cannot change before this
	// command is committed, because the commands that request them are decided one after the other.
	Streams int
	Kinds   []Kind

	// Webhooks are the enabled webhooks of the execution's org, as of the start of this transaction
	// or later. Every command on an execution gets them. They must not be modified.
	Webhooks []*perdure.Webhook
	// Webhook and WebhookCount cannot change before this command is committed. Waiting counts at
	// most perdure.MaxUndelivered+1 pending deliveries.
	Webhook      *perdure.Webhook
	Waiting      int
	WebhookCount int
	Delivery     *perdure.Delivery
	// Due are pending deliveries that are due and that no other transaction has locked. The
	// deliveries of each webhook are in the order in which they became due.
	Due []*perdure.Delivery
	// WorkerCount is the number of stored workers of the org.
	WorkerCount int
	// Pause is the pause of the queue Needs.Pause; nil if the queue is not paused. PauseCount is
	// the number of paused queues of the org. Neither can change before this command is committed.
	Pause      *perdure.QueuePause
	PauseCount int
	// BulkAction cannot change before this command is committed. BulkRunning is the number of the
	// org's running bulk actions; no other command can start one before this command is committed.
	BulkAction  *perdure.BulkAction
	BulkRunning int
	// BulkByKey is the newest bulk action with the idempotency key Needs.BulkKey. No other command
	// can create a newer one before this command is committed.
	BulkByKey *perdure.BulkAction
}

// Holding describes the executions that a worker has claimed.
type Holding struct {
	Executions bool // the worker holds an execution
	Alone      bool // one of these executions must run alone
}

// Load is the number of running tasks with one concurrency key or of one queue, in one org, and
// whether further tasks of that key or queue wait.
type Load struct {
	Running int
	// Waiting reports whether a pending task could be claimed now if there were no limits.
	Waiting bool
}

// Head is the row that describes the end of an execution's log. A command that appends to the log
// locks this row.
type Head struct {
	LastSeq int64
	LastPos int64
	Epoch   uint64 // random number that was created with the execution
	// Nonce is the nonce of the record at LastPos.
	Nonce uint32
	// FirstPos is the position of the first stored record; 0 if no record is pruned. Only readers
	// set it. It is always 0 in a decision.
	FirstPos int64
}
