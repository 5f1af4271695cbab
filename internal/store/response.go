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
	// History is what its client knows of the conversation up to the response's end;
	// zero as long as no client was given the end.
	History History
}

// History tells conversations apart by what their clients know of them.
type History struct {
	// Said is the hash of what was said by both sides, SaidAndRun of that together with
	// the calls of tools that ran at the server, which some clients leave out.
	Said, SaidAndRun perdure.Hash
}

// ResponseEnd is the history up to the end of a response.
type ResponseEnd struct {
	ID      string
	History History
}

// Join says that the input of a response was taken up by another.
type Join struct{ ID, Into string }
