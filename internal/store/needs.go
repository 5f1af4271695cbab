package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Needs lists the data that must be loaded before a command decides.
type Needs struct {
	Tasks      []uuid.UUID
	OpenTasks  bool // all tasks of the execution that have not ended
	HeldTasks  bool // all tasks of the execution that are RUNNING
	Entries    []uuid.UUID
	EntryKeys  []string
	CallNames  bool // the tool names of the calls that have no result yet at one of Entries
	SignalIDs  []string
	Patterns   []string // requests the oldest 1000 pending signals that match one of these patterns
	Taken      bool     // requests the signals that are taken and not consumed
	Blocks     []perdure.BlockKey
	TaskBlocks []uuid.UUID // ids of tasks; requests all their open blocks
	OpenBlocks bool        // all open blocks of the execution, including its tasks' blocks
	// AttemptBlocks requests the blocks that the newest attempt of each loaded task has closed.
	// Tasks that have ended are left out. So are superseded blocks.
	AttemptBlocks bool
	Blobs         []uuid.UUID
	// Questions are the ids of questions to load. OpenQuestions requests all open questions of the
	// execution. SignalKeys requests State.SignalKeys. These keys are loaded only if a loaded
	// question has NotAsker set, but no list of Askers.
	Questions     []uuid.UUID
	OpenQuestions bool
	// DecidedQuestions requests all questions of the execution that are not open. SignalKeys: see
	// Questions.
	DecidedQuestions bool
	SignalKeys       bool
	// Link is the SHA-256 of the token of a link to a question of the execution. If Link is set,
	// that link is loaded.
	Link *perdure.Hash
	// LinksOf is the id of a question of the execution. If LinksOf is set, all links to that
	// question are loaded.
	LinksOf *uuid.UUID
	// DueQuestions requests the questions that are stored as open although their ExpiresAt has
	// passed. For a command with PickQuestions, these questions are always loaded.
	DueQuestions bool
	// Grants requests State.Grants, the approval grants that apply to the execution. ChangeGrants is
	// set if the command may change approval grants of the org. While such a command runs, no other
	// command reads the org's grants.
	Grants       bool
	ChangeGrants bool
	// Worker is the id of a worker; State.Holds then describes what that worker has claimed.
	// ConcurrencyKeys and Queues are names of concurrency keys and queues in the execution's org.
	// They request State.Keys and State.Queues. A command with PickAgents or PickTasks always gets
	// the values for the candidate's key and queue.
	Worker          *uuid.UUID
	ConcurrencyKeys []string
	Queues          []string
	Retention       bool // requests how long the data of the execution is kept
	// Withheld requests withheld blobs (blobs whose content only the home worker has) of which the
	// server has not received all bytes yet. The value is the maximum number of blobs to load.
	Withheld int

	// The fields from here on request data outside of executions, in the command's Org.
	Definition  *uuid.UUID
	Slug        string
	Idempotency string
	KeyID       *uuid.UUID
	Session     *uuid.UUID
	Org         bool // requests the row of the command's org
	// Conversation is the id of a conversation of the command's org.
	Conversation string
	// UseOf is the id of the API key whose limits the decision must respect: see State.Limited. If
	// the command names an existing Stream, UseOf has no effect: the limits are those of the key
	// that created the stream.
	UseOf *uuid.UUID
	// Stream is the path of a stream. Producer is the id of one of the stream's producers.
	Stream   string
	Producer string
	// StreamCount requests the number of the org's streams. It has no effect if the stream with the
	// path Stream exists.
	StreamCount bool
	Kinds       bool // requests the kinds of agents and tasks of the org
	// Webhook is the id of a webhook of the command's org that is not deleted. Waiting requests the
	// number of that webhook's pending deliveries. WebhookCount requests the number of the org's
	// webhooks.
	Webhook      *uuid.UUID
	Waiting      bool
	WebhookCount bool
	// Grant is the id of an approval grant of the command's org that the command may delete.
	Grant *uuid.UUID
	// Delivery is the key of a delivery of the command's org. Each element of Due requests pending
	// deliveries that are due.
	Delivery *DeliveryKey
	Due      []DeliveryPick
	// Workers requests State.WorkerCount. It is required for changes of workers.
	Workers bool
	// Pause is the name of a queue of the command's org. It requests State.Pause.
	Pause string
	// BulkAction is the id of a bulk action of the command's org. BulkActions requests
	// State.BulkRunning. BulkKey, the idempotency key of a request for a bulk action, requests
	// State.BulkByKey.
	BulkAction  *uuid.UUID
	BulkActions bool
	BulkKey     string
}
