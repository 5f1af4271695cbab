package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

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
	Link      *perdure.QuestionLink // may have expired
	Links     []*perdure.QuestionLink
	// SignalKeys are the keys of the signals of the execution that are taken or consumed, each once,
	// at most AskerLimit; uuid.Nil stands for the token of the data directory.
	SignalKeys []uuid.UUID
	// Grants are the approval grants of the execution and of its definition that have not expired,
	// oldest first. They are exact.
	Grants []*perdure.ApprovalGrant
	// Retention is the org's policy, overridden by the definition's policy as of the start, with
	// all defaults filled in.
	Retention perdure.Retention

	// The following fields also depend on other executions. They are exact: no two committed
	// transactions have both used the same free place of a limit. Only Holds may miss work that is
	// claimed concurrently, in the same pick or elsewhere. It never misses work that must run
	// alone, nor any work if this execution must run alone.
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
	// BulkAction and BulkRunning, the number of the org's bulk actions that run, are exact.
	BulkAction  *perdure.BulkAction
	BulkRunning int
	// BulkByKey is the newest bulk action of Needs.BulkKey. It is exact.
	BulkByKey *perdure.BulkAction
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
