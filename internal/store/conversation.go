package store

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Conversation is the row of a conversation of the Responses endpoint. It belongs to an org. The
// messages of the conversation are stored in the conversation's executions. Items that a client has
// added since the last response began are pending: the input of the next response begins with them.
type Conversation struct {
	ID    string
	Org   string
	KeyID *uuid.UUID // the key that created the conversation
	// Response is the id that the next response of the conversation will have. When that response
	// begins, Response gets a new id.
	Response string
	// Items is the number of pending items. Bytes is the size of the pending items and the
	// metadata.
	Items     int
	Bytes     int64
	Metadata  json.RawMessage
	CreatedAt perdure.Time
	// Executions is the number of executions that the conversation has had so far.
	Executions int
	// Mark identifies the last request that added items, so that a repeated request is recognized.
	Mark string
}

// ConversationChange is the change that a command makes to a conversation.
type ConversationChange struct {
	// Row is the conversation's row after the change, to be inserted or replaced.
	Row Conversation
	// Take deletes the pending items. Add contains new pending items, which are added after the
	// deletion.
	Take bool
	Add  []json.RawMessage
	// Execution is the id of the execution that becomes the conversation's newest one.
	Execution *uuid.UUID
	// Delete deletes the conversation and its pending items. All other fields are then ignored.
	Delete bool
}

// ResponseQuery selects responses of an execution by the positions of their inputs.
type ResponseQuery struct {
	// After is an exclusive bound for the positions of the responses' inputs: the responses have
	// greater positions or, if Newest is set, smaller ones. If After is 0, the query starts at the
	// first response or, if Newest is set, at the last one.
	After int64
	// Newest orders the result by position with the newest response first.
	Newest bool
	Limit  int
}
