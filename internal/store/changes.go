package store

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Changes are the writes that a command has decided on. The zero value changes nothing.
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
	Grant     *perdure.ApprovalGrant
	DropGrant *uuid.UUID // deleted, if it belongs to the command's org
	// Link is inserted. The oldest links of its key to its question beyond perdure.MaxLinks are deleted.
	Link      *perdure.QuestionLink
	DropLinks *LinkDrop
	// SweepLinks deletes at most that many links to questions of the execution that have expired.
	SweepLinks   int
	Take         []string // ids, at this checkpoint number (Execution.CheckpointSeq)
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
	// EraseAnswers is set if Questions no longer have texts that the stored rows have. The texts are
	// then soon erased from the disk.
	EraseAnswers bool
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
	// BulkAction is inserted or replaced. BulkExecutions are the ids of its executions, inserted with
	// it and deleted at its end. ForgetBulk deletes the org's bulk actions that ended before this time.
	BulkAction     *perdure.BulkAction
	BulkExecutions []uuid.UUID
	ForgetBulk     *perdure.Time
}

// LinkDrop selects links to a question of the execution, which are deleted: those of one key, or all
// if KeyID is nil.
type LinkDrop struct {
	QuestionID uuid.UUID
	KeyID      *uuid.UUID
}

// Staged is a piece of a withheld blob.
type Staged struct {
	ID      uuid.UUID
	At      int64
	Content []byte
}

// Entry is an entry to insert. Open contains the ids of the tool calls that have no result after
// it. Covers is the range of entries that a compaction replaces; nil for other entries.
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
