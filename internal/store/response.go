package store

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Response is the row of a response: where the input is that began it. An input
// that is taken up by a response that runs already joins that one, and the id
// that it was given is another name of it.
type Response struct {
	ID        string
	Execution uuid.UUID
	// SignalID is the signal that was the input; "" stands for the execution's
	// own input.
	SignalID string
	// FirstPos is the position of the input's event in the log.
	FirstPos int64
	// Joined is the response that took the input up, if that is another.
	Joined string
	// Hidden responses are not found any more by their id.
	Hidden    bool
	CreatedAt perdure.Time
	// Request is what the client asked for besides the input, if it asked for a
	// response; nil otherwise.
	Request json.RawMessage
}

// Join says that the input of a response was taken up by another.
type Join struct{ ID, Into string }
