package response

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// Update is a piece of a response: contents of one message, or properties of the message or of the
// response. "" and nil mean absent.
type Update struct {
	ResponseID string
	// ProviderResponseID is the response id of a provider or inner agent, after a Host has set its
	// own id.
	ProviderResponseID string
	MessageID          string
	AgentID            string
	// InvocationID identifies one run of an agent; a hand-off back begins another run.
	InvocationID string
	Author       string
	Role         perdure.Role
	// CreatedAt is used if it is after the Unix epoch.
	CreatedAt    perdure.Time
	Contents     []Content
	FinishReason perdure.StopReason
	Usage        *perdure.Usage
	// Properties belong to the message if there is a message id, otherwise to the response.
	Properties map[string]json.RawMessage
}

// Content is a part of a message, a usage or an error. A part that arrives in fragments is several
// contents.
type Content struct {
	// Part is text, thinking, an image, a tool call or a tool result. RawArguments of a tool call
	// is a fragment of its arguments. The type is "" for a usage or an error.
	Part perdure.Part
	// Annotations belong to a text. An annotated text is never joined with another.
	Annotations []json.RawMessage
	// Index is the position of a call in its model call. Some providers use it to match fragments;
	// nil if unknown.
	Index *int
	// Usage is added to the response's usage, and is not part of a message.
	Usage *perdure.Usage
	// Failure is an error that the model or the agent reported.
	Failure *perdure.TaskError
}

// Text returns a content of plain text.
func Text(s string) Content { return Content{Part: perdure.Text(s)} }

// Thinking returns a content of reasoning. The signature, if not "", closes it.
func Thinking(s, signature string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartThinking, Thinking: s, ThinkingSignature: signature}}
}

// Call returns a tool call, or a fragment of one.
func Call(id, name, arguments string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartToolCall, ID: id, Name: name, RawArguments: arguments}}
}

// Result returns the result of a tool.
func Result(callID, text string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartToolResult, ToolCallID: callID, Parts: []perdure.Part{perdure.Text(text)}}}
}

// Message is one message of a merged response.
type Message struct {
	ID                                                string
	ProviderResponseID, AgentID, InvocationID, Author string
	// Role is the given role; by default assistant, or tool_result for a result.
	Role perdure.Role
	// CreatedAt is the first valid time of its updates.
	CreatedAt  perdure.Time
	Contents   []Content
	Properties map[string]json.RawMessage
}

// Response is a merged response.
type Response struct {
	ID string // the host's response id
	// ProviderResponseIDs are the providers' response ids, in order of arrival.
	ProviderResponseIDs []string
	AgentID             string // the first AgentID of the updates
	// CreatedAt is the first valid time of all updates. It does not replace the time of any
	// message.
	CreatedAt perdure.Time
	Messages  []Message
	// FinishReason is the last given reason. Usage is the sum; nil if no usage was given.
	FinishReason perdure.StopReason
	Usage        *perdure.Usage
	Properties   map[string]json.RawMessage
}

// Parts returns the message's contents as they are stored; errors are not stored.
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
