package perdure

import (
	"encoding/json"

	"github.com/google/uuid"
)

// EventType is the name of an event in all transports.
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

	EventSignal EventType = "signal.received"

	EventQuestionAsked     EventType = "question.asked"
	EventQuestionVoted     EventType = "question.voted"
	EventQuestionEdited    EventType = "question.edited"
	EventQuestionAnswered  EventType = "question.answered"
	EventQuestionExpired   EventType = "question.expired"
	EventQuestionWithdrawn EventType = "question.withdrawn"
	EventQuestionClosed    EventType = "question.closed"

	EventEntry       EventType = "entry.appended"
	EventToken       EventType = "token"
	EventThinking    EventType = "thinking"
	EventTerminal    EventType = "terminal"
	EventData        EventType = "data"
	EventBlockClosed EventType = "block.closed"
	EventError       EventType = "error"
)

// EventTypes are all events that a log can contain.
var EventTypes = []EventType{
	EventCreated, EventStarted, EventWaiting, EventResumed, EventCheckpoint, EventCancelling, EventCompleted, EventFailed, EventCancelled,
	EventTaskScheduled, EventTaskStarted, EventTaskRetrying, EventTaskCompleted, EventTaskFailed, EventTaskInterrupted, EventTaskCancelled,
	EventQuestionAsked, EventQuestionVoted, EventQuestionEdited, EventQuestionAnswered, EventQuestionExpired, EventQuestionWithdrawn, EventQuestionClosed,
	EventSignal, EventEntry, EventToken, EventThinking, EventTerminal, EventData, EventBlockClosed, EventError,
}

// Ends reports whether an event of this type is the last one of its log.
func (t EventType) Ends() bool {
	return t == EventCompleted || t == EventFailed || t == EventCancelled
}

// IsTask reports whether an event of this type is about a task.
func (t EventType) IsTask() bool { return len(t) > 5 && t[:5] == "task." }

// Record is one committed record of an execution's log: an event, or one chunk
// of a block.
type Record struct {
	// Pos is the number of the record in its log. Seq is the number of the record's event; all
	// chunks of a block have the same seq.
	Pos, Seq int64
	// Nonce is a random number of the transaction that committed the record. It distinguishes
	// records that two histories of one store have at the same pos. Nonce is 0 only in records that
	// were written before nonces were introduced.
	Nonce     uint32
	Type      EventType
	CreatedAt Time
	Place     Place
	// TaskID and Attempt identify the task attempt that wrote the record; TaskID is nil if the
	// execution wrote it.
	TaskID  *uuid.UUID
	Attempt int
	// Fields is a JSON object with the members that an event of this type has; nil if there are none.
	Fields json.RawMessage
	// Blob refers to the Fields of an event that the agent's code in a LOCAL execution emitted. Only
	// the worker has these Fields.
	Blob *BlobRef
	// Chunk is set if the record is a chunk of a block.
	Chunk *Chunk
}

// BlockKey identifies a block by its source and a number. Each source counts its blocks from 0. The
// source is an attempt of a task. If TaskID is uuid.Nil, the source is the execution itself, and
// Attempt is the fence of the claim.
type BlockKey struct {
	TaskID  uuid.UUID `json:"taskId"`
	Attempt int64     `json:"attempt"`
	Block   int64     `json:"block"`
}

// Chunk is a part of a block's content.
type Chunk struct {
	Offset int64 // in bytes of the block's UTF-8 content
	Text   string
	// Length is the length of the chunk's text if the server does not have the text, as in a LOCAL
	// execution. It is 0 if Text has the chunk's text.
	Length int64
	// Stream is "stdout" or "stderr", in a block of type terminal.
	Stream string
	// ToolCallID is the id of the tool call whose arguments the block contains, in a block of type
	// data.
	ToolCallID string
}

// BlockReason is the reason for which a block closed.
type BlockReason string

const (
	BlockDone       BlockReason = "done"
	BlockSuperseded BlockReason = "superseded"
	BlockTruncated  BlockReason = "truncated"
)

// TerminalLimit is the maximum number of bytes of terminal output that are stored for one attempt.
const TerminalLimit = 1 << 20

// NewEvent is an event that a worker emits. The store assigns its seq.
type NewEvent struct {
	Type   EventType       `json:"type"`
	Place  Place           `json:"place"`
	Fields json.RawMessage `json:"fields,omitempty"`
}
