package perdure

import (
	"encoding/json"

	"github.com/google/uuid"
)

// EventType is an event's name on the wire.
type EventType string

const (
	EventCreated    EventType = "agent.created"
	EventStarted    EventType = "agent.started"
	EventWaiting    EventType = "agent.waiting"
	EventResumed    EventType = "agent.resumed"
	EventCheckpoint EventType = "agent.checkpoint"
	EventCancelling EventType = "agent.cancelling"
	EventCompleted  EventType = "agent.completed"
	EventFailed     EventType = "agent.failed"
	EventCancelled  EventType = "agent.cancelled"

	EventTaskScheduled   EventType = "task.scheduled"
	EventTaskStarted     EventType = "task.started"
	EventTaskRetrying    EventType = "task.retrying"
	EventTaskCompleted   EventType = "task.completed"
	EventTaskFailed      EventType = "task.failed"
	EventTaskInterrupted EventType = "task.interrupted"
	EventTaskCancelled   EventType = "task.cancelled"

	EventSignal      EventType = "signal.received"
	EventEntry       EventType = "entry.appended"
	EventToken       EventType = "token"
	EventThinking    EventType = "thinking"
	EventTerminal    EventType = "terminal"
	EventData        EventType = "data"
	EventBlockClosed EventType = "block.closed"
	EventError       EventType = "error"
)

// EventTypes are all that a log can hold.
var EventTypes = []EventType{
	EventCreated, EventStarted, EventWaiting, EventResumed, EventCheckpoint, EventCancelling, EventCompleted, EventFailed, EventCancelled,
	EventTaskScheduled, EventTaskStarted, EventTaskRetrying, EventTaskCompleted, EventTaskFailed, EventTaskInterrupted, EventTaskCancelled,
	EventSignal, EventEntry, EventToken, EventThinking, EventTerminal, EventData, EventBlockClosed, EventError,
}

// Ends reports whether the event ends its log.
func (t EventType) Ends() bool {
	return t == EventCompleted || t == EventFailed || t == EventCancelled
}

// IsTask reports whether the event is about a task.
func (t EventType) IsTask() bool { return len(t) > 5 && t[:5] == "task." }

// Record is one committed record of an execution's log: an event, or one chunk
// of a block.
type Record struct {
	// Pos numbers records, Seq events; the chunks of a block share its seq.
	Pos, Seq int64
	// Nonce is the random number, never 0, of the transaction that committed the
	// record. It tells two records apart that histories of one store have at the
	// same pos. It is 0 in records from before there were nonces.
	Nonce     uint32
	Type      EventType
	CreatedAt Time
	Place     Place
	// TaskID and Attempt say which task's attempt it came from, if any.
	TaskID  *uuid.UUID
	Attempt int
	// Fields is a JSON object with what the type adds; nil for none.
	Fields json.RawMessage
	// Blob stands for Fields that are withheld: those of an event that code of
	// a LOCAL execution emits.
	Blob *BlobRef
	// Chunk is set if the record is a chunk.
	Chunk *Chunk
}

// BlockKey names a block by its source: a task's attempt, or the execution's
// own fence where the task is nil, and a number that the source counts from 0.
type BlockKey struct {
	TaskID  uuid.UUID `json:"taskId"`
	Attempt int64     `json:"attempt"`
	Block   int64     `json:"block"`
}

// Chunk is a piece of a block's content.
type Chunk struct {
	Offset int64 // in bytes of the block's UTF-8 content
	Text   string
	// Length is that of a text which is withheld, as in a LOCAL execution; 0 if
	// Text is all there is.
	Length int64
	// Stream is stdout or stderr, in terminal blocks.
	Stream string
	// ToolCallID is the call whose arguments grow, in blocks of type data.
	ToolCallID string
}

// BlockReason says why a block closed.
type BlockReason string

const (
	BlockDone       BlockReason = "done"
	BlockSuperseded BlockReason = "superseded"
	BlockTruncated  BlockReason = "truncated"
)

// TerminalLimit is the most bytes that the terminal blocks of one attempt keep.
const TerminalLimit = 1 << 20

// NewEvent is an event that a worker emits; the store gives it its seq.
type NewEvent struct {
	Type   EventType       `json:"type"`
	Place  Place           `json:"place"`
	Fields json.RawMessage `json:"fields,omitempty"`
}
