package store

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Conversation is the row of a conversation of the Responses endpoint. It belongs to an org. Its
// messages are in its executions. Items that a client added since its last response are pending:
// they are the start of the next response's input.
type Conversation struct {
	ID    string
	Org   string
	KeyID *uuid.UUID // the key that created the conversation
	// Response is the id that the conversation's next response gets. It is replaced whenever a
	// response of the conversation begins.
	Response string
	// Items is the number of pending items. Bytes is the size of the pending items and the
	// metadata.
	Items     int
	Bytes     int64
	Metadata  json.RawMessage
	CreatedAt perdure.Time
	// Executions is the number of executions that the conversation has had.
	Executions int
	// Mark identifies the last addition of items, so that a repeated addition is recognized.
	Mark string
}

// ConversationChange is the change that a command makes to a conversation.
type ConversationChange struct {
	// Row is inserted or replaced. Its counts are the counts after the change.
	Row Conversation
	// Take deletes the pending items. Add appends items after the pending items that remain.
	Take bool
	Add  []json.RawMessage
	// Execution becomes the conversation's newest execution.
	Execution *uuid.UUID
	// Delete deletes the conversation with its pending items. All other fields are then ignored.
	Delete bool
}

// ResponseQuery selects responses of an execution by the positions of their inputs.
type ResponseQuery struct {
	// After is an exclusive bound: the responses have later positions, or earlier ones if Newest is
	// set. With 0 the query starts at the first response, or at the last.
	After int64
	// Newest asks for the newest responses first.
	Newest bool
	Limit  int
}
