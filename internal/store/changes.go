package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Changes are the writes that a command has decided on. The zero value changes nothing.
type Changes struct {
	// Answer is the value that Store.Do returns to its caller once the changes are durable.
	Answer any

	// Execution is the whole row of the execution, to be inserted or replaced. If its Input or
	// Output is nil, the stored content remains.
	Execution *perdure.Execution
	// Head is the head of the execution's log after the Records are appended.
	Head *Head
	// Timer replaces the execution's timer; a zero time deletes it.
	Timer *perdure.Time

	// Entries are new entries of the conversation tree. If an entry repeats a text that is stored
	// elsewhere, the text is stored only once, with the entry. That applies to closed blocks of the
	// execution, to the results of the tasks from which the entries were made, and to events of the
	// same commit. Reads still return the whole texts: see EntryTexts and FindStretch.
	Entries    []Entry
	Checkpoint *perdure.Checkpoint
	// Tasks are whole rows to insert or replace. If the Input or Result of a task is nil, its stored
	// content remains.
	Tasks     []*perdure.Task
	Signals   []perdure.Signal    // new signals
	Questions []*perdure.Question // whole rows to insert or replace
	// Grant is a new approval grant. Expired grants of the same execution or the same definition are
	// deleted.
	Grant     *perdure.ApprovalGrant
	DropGrant *uuid.UUID // id of a grant to delete, if it belongs to the command's org
	// Link is a new link to a question. If its API key then has more than perdure.MaxLinks links to
	// the question, the oldest of them are deleted.
	Link      *perdure.QuestionLink
	DropLinks *LinkDrop
	// SweepLinks is the maximum number of expired links that are deleted. Only links to questions
	// of the execution are deleted.
	SweepLinks   int
	Take         []string // ids of signals to take; their TakenAt becomes Execution.CheckpointSeq
	ConsumeTaken bool
	Records      []perdure.Record   // new events and chunks, with their Pos and Seq
	ChunkKeys    []perdure.BlockKey // for each record that is a chunk, in order: the key of its block
	// Blocks are rows to insert or replace. When a block closes, its chunks are joined into one
	// content, which is stored in the block's row. The content of a superseded block is deleted.
	Blocks      []Block
	OwnBlobs    []uuid.UUID
	Blob        *Blob  // row to insert or replace
	BlobChunk   []byte // bytes to append to Blob at the offset BlobChunkAt
	BlobChunkAt int64
	// Withhold lists blobs that commits refer to and whose content is not stored here. A row without
	// content is created for each of them. An existing blob remains as it is.
	Withhold []perdure.BlobRef
	// Erase lists complete blobs whose content is deleted. Afterwards they are withheld blobs.
	Erase []uuid.UUID
	// Stage stores pieces of withheld blobs, in order and without gaps. Readers do not see the
	// pieces. If Unveil is set, every fully staged blob of the execution becomes complete and
	// readable.
	Stage  []Staged
	Unveil bool
	// EraseSignals deletes the values of all signals of the execution. In a LOCAL execution,
	// ConsumeTaken already deletes the values of consumed signals.
	EraseSignals bool
	// EraseAnswers is set if texts in the stored rows of Questions are removed by this change. These
	// texts are then soon erased from the disk, too.
	EraseAnswers bool
	// SweepBlobs deletes those blobs of the execution whose upload began more than LooseBlobAge ago
	// and to which no commit refers.
	SweepBlobs bool
	// Prune deletes data of the execution whose retention period is over.
	Prune *Prune
	// Free is the maximum number of unused pages that the store returns to the file system.
	// SweepReader.Unused reports how many there are.
	Free int
	// Texts is the text index to write for a block of executions: see TextBlock.
	Texts *TextBlock

	// Responses are the responses to new inputs. Join lists responses whose input was taken up by
	// another response. HideResponse is the id of a response to hide: see Response.Hidden.
	Responses    []Response
	Join         []Join
	HideResponse string
	Conversation *ConversationChange
	// EndResponse sets the history of a response. It can be set only once per response.
	EndResponse *ResponseEnd

	// Retention replaces the retention policy of the command's Org. Retain is the policy of the
	// definition from which a new execution is started.
	Retention *perdure.Retention
	Retain    *perdure.Retention

	Definition *perdure.Definition // row to insert or replace
	// DeleteDefinition is the id of a definition to delete. Executions keep their copies of it, and
	// their references to it become null.
	DeleteDefinition *uuid.UUID
	Idempotency      *Idempotency
	// Key is the row of an API key, to be inserted or replaced. Revoking a key deletes its sessions.
	Key *perdure.APIKey
	// Session is a new session. If its API key then has more than perdure.SessionsPerKey sessions,
	// the oldest of them are deleted.
	Session    *perdure.Session
	EndSession *uuid.UUID // id of a session to delete, if it belongs to the command's org
	// SweepSessions is the maximum number of expired sessions that are deleted.
	SweepSessions int
	Org           *perdure.Org         // row to insert or replace
	Secret        *Secret              // new row, ignored if a secret with its name exists
	Audit         *perdure.AuditRecord // appended to the audit log
	Kinds         []Kind               // kinds that a worker registers; each has its org
	Stream        *StreamChange
	// DropStreams is the approximate number of rows of deleted streams that are deleted.
	// SweepReader.DeadStreams reports whether such rows remain.
	DropStreams int

	// Webhook is a row to insert or replace. If its DeletedAt is set, the webhook and its deliveries
	// are deleted step by step: see SweepDeliveries.
	Webhook *perdure.Webhook
	// Deliveries are rows of webhook deliveries to insert or replace.
	Deliveries []*perdure.Delivery
	// Deaden is the id of a webhook. The status of all its pending deliveries becomes dead.
	Deaden *uuid.UUID
	// ReturnDeliveries selects all pending deliveries that have an unexpired lease, and makes them
	// due at once.
	ReturnDeliveries bool
	// SweepDeliveries is the maximum number of deliveries that are deleted: those of deleted
	// webhooks, and those whose RemoveAt has passed.
	SweepDeliveries int

	// Workers are rows to insert or replace. SeenWorkers are workers of the command's org that were
	// seen at the time of the commit; ids without a row are ignored. ForgetWorkers deletes the org's
	// workers that were last seen before this time. All three require that Needs.Workers is set.
	Workers       []*perdure.WorkerInfo
	SeenWorkers   []uuid.UUID
	ForgetWorkers *perdure.Time
	// PauseQueue is the pause of a queue, a row to insert or replace. ResumeQueue is the name of a
	// paused queue of the command's org that is resumed.
	PauseQueue  *perdure.QueuePause
	ResumeQueue string
	// BulkAction is a row to insert or replace. BulkExecutions are the ids of its executions. They
	// are inserted with the bulk action and deleted when it ends. ForgetBulk deletes the org's bulk
	// actions that ended before this time.
	BulkAction     *perdure.BulkAction
	BulkExecutions []uuid.UUID
	ForgetBulk     *perdure.Time
}

// LinkDrop deletes links to a question of the execution: those of the key KeyID, or all of them if
// KeyID is nil.
type LinkDrop struct {
	QuestionID uuid.UUID
	KeyID      *uuid.UUID
}

// Staged is a piece of the content of a withheld blob, at the offset At.
type Staged struct {
	ID      uuid.UUID
	At      int64
	Content []byte
}

// Entry is a new entry. Open contains the ids of the tool calls that have no result yet at this
// entry. Covers is the range of entries that a compaction replaces; it is nil for other entries.
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
