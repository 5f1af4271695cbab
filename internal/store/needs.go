package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

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
	// requests State.SignalKeys, if one of the questions excludes its askers and does not name them.
	Questions     []uuid.UUID
	OpenQuestions bool
	// DecidedQuestions adds all questions of the execution that are not open.
	DecidedQuestions bool
	SignalKeys       bool
	// Link is the SHA-256 of the token of a link to a question of the execution.
	Link *perdure.Hash
	// LinksOf is a question of the execution whose links are requested.
	LinksOf *uuid.UUID
	// DueQuestions adds the open questions that have expired. PickQuestions requests it itself.
	DueQuestions bool
	// Grants requests State.Grants. ChangeGrants is set if the command may change the grants of the
	// org, which no other command then reads.
	Grants       bool
	ChangeGrants bool
	// Worker selects the work that a worker has claimed. ConcurrencyKeys and Queues select the
	// running tasks with these keys or on these queues, in the execution's org. A pick of
	// PickAgents or PickTasks always loads the counts for the candidate's key and queue.
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
	// BulkAction is a bulk action of the command's org. BulkActions requests State.BulkRunning. BulkKey
	// is an idempotency key of a request for a bulk action.
	BulkAction  *uuid.UUID
	BulkActions bool
	BulkKey     string
}
