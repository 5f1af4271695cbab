package store

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Conversation is the row of a conversation of the Responses endpoint. It belongs to
// an org. What was said in it is in its executions; items that a client added since
// its last response are pending: they begin the input of the next one.
type Conversation struct {
	ID    string
	Org   string
	KeyID *uuid.UUID // that it was made with
	// Response is the id that the conversation's next response gets. Each response
	// that begins in the conversation replaces it.
	Response string
	// Items is the number of pending items, Bytes what they and the metadata take.
	Items     int
	Bytes     int64
	Metadata  json.RawMessage
	CreatedAt perdure.Time
	// Executions is how many executions the conversation has had.
	Executions int
	// Mark names the last addition of items, so that one which runs again is known.
	Mark string
}

// ConversationChange is what a command changes of a conversation.
type ConversationChange struct {
	// Row is inserted or replaced. Its counts are those after the change.
	Row Conversation
	// Take deletes the pending items, and Add appends items behind those that stay.
	Take bool
	Add  []json.RawMessage
	// Execution becomes the conversation's newest execution.
	Execution *uuid.UUID
	// Delete deletes the conversation with its pending items, in place of all else.
	Delete bool
}

// ResponseQuery asks for responses of an execution by the positions of their inputs.
type ResponseQuery struct {
	// After is the position that they follow, or precede if Newest is set; 0 for the
	// first or last ones.
	After int64
	// Newest asks for the newest first.
	Newest bool
	Limit  int
}
