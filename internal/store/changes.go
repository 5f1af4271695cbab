package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Changes are the writes of a command. The zero value changes nothing.
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

	// Entries are new entries of the conversation tree. If the text of an entry is also in a closed
	// block of the execution, in the result of the task from which the entry was made, or in an
	// event of the same commit, the text is stored only once, with the entry. Reads still return
	// the whole texts: see EntryTexts and FindStretch.
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
	// Withhold lists blobs to which commits refer and whose contents only a worker stores. The store
	// creates a row without content for each of these blobs that has no row.
	Withhold []perdure.BlobRef
	// Erase lists complete blobs whose contents are deleted. They then are withheld blobs: rows
	// without content.
	Erase []uuid.UUID
	// Stage stores pieces of withheld blobs, in order and without gaps. Readers do not see the
	// pieces. If Unveil is true, every blob of the execution of which all pieces are stored becomes
	// complete and readable.
	Stage  []Staged
	Unveil bool
	// EraseSignals deletes the values of all signals of the execution. ConsumeTaken deletes only
	// those of consumed signals, if the execution is LOCAL.
	EraseSignals bool
	// EraseAnswers is set if this change removes texts from the stored rows of Questions. The store
	// then soon erases these texts from the disk.
	EraseAnswers bool
	// SweepBlobs deletes those blobs of the execution whose upload began more than LooseBlobAge ago
	// and to which no commit refers.
	SweepBlobs bool
	// Prune deletes data of the execution whose retention period is over.
	Prune *Prune
	// Free is the maximum number of unused pages that the store returns to the file system.
	// SweepReader.Unused returns the number of unused pages.
	Free int
	// Texts is the text index of a range of executions, which is to be written (see TextBlock).
	Texts *TextBlock

	// Responses are new responses. Join lists responses whose input another response has taken.
	// HideResponse is the id of a response to hide: see Response.Hidden.
	Responses    []Response
	Join         []Join
	HideResponse string
	Conversation *ConversationChange
	// EndResponse sets the history of a response. It can be set only once per response.
	EndResponse *ResponseEnd

	// Retention replaces the retention policy of the command's Org. Retain is the retention policy
	// of the definition from which a new execution was started.
	Retention *perdure.Retention
	Retain    *perdure.Retention

	Definition *perdure.Definition // row to insert or replace
	// DeleteDefinition is the id of a definition to delete. The copies of the definition in
	// executions remain. The references of executions to the definition become null.
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
	// DropStreams is the approximate number of rows of deleted streams to delete.
	// SweepReader.DeadStreams reports whether more such rows exist.
	DropStreams int

	// Webhook is a row to insert or replace. If its DeletedAt is set, the webhook and its deliveries
	// are deleted step by step: see SweepDeliveries.
	Webhook *perdure.Webhook
	// Deliveries are rows of webhook deliveries to insert or replace.
	Deliveries []*perdure.Delivery
	// Deaden is the id of a webhook. The status of all its pending deliveries becomes dead.
	Deaden *uuid.UUID
	// ReturnDeliveries makes all pending deliveries that have an unexpired lease due at once.
	ReturnDeliveries bool
	// SweepDeliveries is the maximum number of deliveries that are deleted: those of deleted
	// webhooks, and those whose RemoveAt has passed.
	SweepDeliveries int

	// Workers are rows to insert or replace. SeenWorkers are workers of the command's org that were
	// seen at the time of the commit; ids without a row are ignored. ForgetWorkers deletes the
	// org's workers that were last seen before this time. These three fields require that
	// Needs.Workers is set.
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

// Entry is a new entry. Open contains the ids of the tool calls that have no result yet after this
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
