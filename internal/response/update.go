package response

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// Update is a piece of a response as it arrives: contents of one message, or
// what is said of the message or of the response. "" and nil mean absent.
type Update struct {
	ResponseID string
	// ProviderResponseID is what a provider, or an agent inside, calls the
	// response, once a host has put its own id in the place.
	ProviderResponseID string
	MessageID          string
	AgentID            string
	// InvocationID is one run of an agent; a hand-off back begins another.
	InvocationID string
	Author       string
	Role         perdure.Role
	// CreatedAt counts if it is after the Unix epoch.
	CreatedAt    perdure.Time
	Contents     []Content
	FinishReason perdure.StopReason
	Usage        *perdure.Usage
	// Properties go to the message if there is a message id, else to the
	// response.
	Properties map[string]json.RawMessage
}

// Content is one piece of content: a part of a message, or a usage, or an
// error. A part that arrives in pieces is several contents.
type Content struct {
	// Part is text, thinking, an image, a tool call (RawArguments is a fragment
	// of its arguments) or a tool result; its type is "" in the other cases.
	Part perdure.Part
	// Annotations stand by a text, which is never joined with another then.
	Annotations []json.RawMessage
	// Index is the place of a call among those of its model call, where the
	// provider tells fragments apart by it; nil if it gives none.
	Index *int
	// Usage is lifted out of the contents into the response.
	Usage *perdure.Usage
	// Failure is an error that the model, or the agent, reported.
	Failure *perdure.TaskError
}

// Text is a content of plain text.
func Text(s string) Content { return Content{Part: perdure.Text(s)} }

// Thinking is a content of reasoning; the signature, if there is one, closes it.
func Thinking(s, signature string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartThinking, Thinking: s, ThinkingSignature: signature}}
}

// Call is a tool call, or a fragment of one.
func Call(id, name, arguments string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartToolCall, ID: id, Name: name, RawArguments: arguments}}
}

// Result is what a tool said.
func Result(callID, text string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartToolResult, ToolCallID: callID, Parts: []perdure.Part{perdure.Text(text)}}}
}

// Message is one message of a merged response.
type Message struct {
	ID                                                string
	ProviderResponseID, AgentID, InvocationID, Author string
	// Role is assistant where none was given, and tool_result of a result.
	Role perdure.Role
	// CreatedAt is the first valid one that the message was given.
	CreatedAt  perdure.Time
	Contents   []Content
	Properties map[string]json.RawMessage
}

// Response is what Merge makes.
type Response struct {
	ID string // the host's
	// ProviderResponseIDs are those of the updates, in order of arrival.
	ProviderResponseIDs []string
	AgentID             string // the first that was given
	// CreatedAt is the first valid one of all updates. It replaces that of no
	// message.
	CreatedAt perdure.Time
	Messages  []Message
	// FinishReason is the last one given, Usage the sum: nil if none was given.
	FinishReason perdure.StopReason
	Usage        *perdure.Usage
	Properties   map[string]json.RawMessage
}

// Parts are the message's contents as they are stored: errors are none.
func (m Message) Parts() []perdure.Part {
	parts := []perdure.Part{}
	for _, c := range m.Contents {
		if c.Part.Type != "" {
			parts = append(parts, c.Part)
		}
	}
	return parts
}

// valid reports whether a time was given.
func valid(t perdure.Time) bool { return t.Unix() > 0 || t.Unix() == 0 && t.Nanosecond() > 0 }
