package store

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Response is the row of a response, with the position of the input that began it. If a response
// that is already running takes up the input, the new response joins the running one: its id is
// then another name of the running response.
type Response struct {
	ID        string
	Execution uuid.UUID
	// SignalID is the id of the signal that was the input; "" for the execution's own input.
	SignalID string
	// FirstPos is the position of the input's event in the log.
	FirstPos int64
	// Joined is the id of the running response that took up the input; "" if there is none.
	Joined string
	// Hidden responses cannot be found by their id any more.
	Hidden    bool
	CreatedAt perdure.Time
	// Request holds what the client asked for in addition to the input, if it asked for a response;
	// nil otherwise.
	Request json.RawMessage
	// History is what the client knows of the conversation up to the response's end. It is zero
	// until a client has received the end.
	History History
}

// History distinguishes conversations by what their clients know of them.
type History struct {
	// Said is the hash of the messages of both sides. SaidAndRun also covers the calls of tools
	// that ran at the server, which some clients leave out.
	Said, SaidAndRun perdure.Hash
}

// ResponseEnd sets the history up to the end of a response.
type ResponseEnd struct {
	ID      string
	History History
}

// Join says that the input of the response ID was taken up by the response Into.
type Join struct{ ID, Into string }
