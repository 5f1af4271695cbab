package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Response is the row of a response. Each input of an execution has a row and an id. If an input
// arrives while a response is running, the running response may take it up. The row of that input
// has then joined the row of the running response: both ids name the same response.
type Response struct {
	ID        string
	Execution uuid.UUID
	// SignalID is the id of the signal that was the input; "" for the execution's own input.
	SignalID string
	// FirstPos is the position of the input's event in the log.
	FirstPos int64
	// Joined is the id of the running response that took up the input; "" if there is none.
	Joined string
	// Hidden reports that clients can no longer find the response by its id.
	Hidden    bool
	CreatedAt perdure.Time
	// Request is what the client asked for in addition to the input. It is nil if the input did not
	// come as a request for a response.
	Request json.RawMessage
	// History identifies the conversation at the end of the response, as the client knows it. It is
	// zero until a client has received that end.
	History History
}

// History identifies a conversation by hashes of the messages that a client knows.
type History struct {
	// Said is the hash of the messages of the client and the agent. SaidAndRun also covers the
	// calls of tools that the server ran. There are two hashes because some clients leave these
	// calls out.
	Said, SaidAndRun perdure.Hash
}

// ResponseEnd sets the History of a response, which includes all messages up to the end of the
// response.
type ResponseEnd struct {
	ID      string
	History History
}

// Join says that the response with the id ID has joined the running response with the id Into. The
// running response has taken up the input of the response with the id ID.
type Join struct{ ID, Into string }

// ResponseReader reads responses and conversations, for the endpoints of the Responses API.
type ResponseReader interface {
	// Response returns the row of a response by its id, including hidden ones. Errors: not_found if
	// there is none.
	Response(ctx context.Context, org, id string) (*Response, error)
	// ResponsesOf returns rows of an execution's responses in the order of their inputs. It includes
	// rows with Hidden set, and leaves out rows with Joined set (see Response).
	ResponsesOf(ctx context.Context, execution uuid.UUID, q ResponseQuery) ([]Response, error)
	// ResponsesBySaid returns the newest responses of an org whose History.Said equals the hash, at
	// most `limit` of them.
	ResponsesBySaid(ctx context.Context, org string, said perdure.Hash, limit int) ([]Response, error)
	// Signal returns a signal by its id, with its value. Errors: not_found if there is none.
	Signal(ctx context.Context, execution uuid.UUID, id string) (*perdure.Signal, error)

	// Conversation returns a conversation by its id. ConversationByResponse returns the
	// conversation whose field Response is the given id. Errors: not_found if there is none.
	Conversation(ctx context.Context, org, id string) (*Conversation, error)
	ConversationByResponse(ctx context.Context, org, response string) (*Conversation, error)
	// ConversationItems returns at most `limit` pending items in order, beginning with the item
	// with the index `from`.
	ConversationItems(ctx context.Context, id string, from, limit int) ([]json.RawMessage, error)
	// ConversationExecutions returns the executions of a conversation that are not
	// deleted, oldest first.
	ConversationExecutions(ctx context.Context, id string) ([]uuid.UUID, error)
}
