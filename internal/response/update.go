package response

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// Update is a piece of a response: contents of one message, or properties of the message or of the
// response. A field that is "" or nil is absent.
type Update struct {
	ResponseID string
	// ProviderResponseID is the id that the model provider, or an agent inside the agent, has given
	// the response. It is set if a [Host] has replaced the value of ResponseID by an id of the host.
	ProviderResponseID string
	MessageID          string
	AgentID            string
	// InvocationID identifies one run of an agent. If agents hand off to each other and back, each
	// hand-off begins another run.
	InvocationID string
	Author       string
	Role         perdure.Role
	// CreatedAt is the time of the update. A time up to the Unix epoch is ignored.
	CreatedAt    perdure.Time
	Contents     []Content
	FinishReason perdure.StopReason
	Usage        *perdure.Usage
	// Properties are properties of the message if the update has a message id, otherwise of the
	// response.
	Properties map[string]json.RawMessage
}

// Content is a part of a message, a usage or an error. A part that arrives in fragments consists of
// several contents.
type Content struct {
	// Part is text, thinking, an image, a tool call or a tool result. In a tool call, RawArguments
	// is a fragment of the arguments. The type is "" for a usage or an error.
	Part perdure.Part
	// Annotations are the annotations of a text. A text with annotations is never joined with the
	// next text.
	Annotations []json.RawMessage
	// Index is the position of a tool call among the calls of one model call; nil if unknown. It
	// serves to match fragments without an id.
	Index *int
	// Usage is added to the response's usage, and is not part of a message.
	Usage *perdure.Usage
	// Failure is an error that the model or the agent reported.
	Failure *perdure.TaskError
}

// Text returns a content of plain text.
func Text(s string) Content { return Content{Part: perdure.Text(s)} }

// Thinking returns a content with thinking (the reasoning of a model). A signature that is not ""
// marks the end of the thinking.
func Thinking(s, signature string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartThinking, Thinking: s, ThinkingSignature: signature}}
}

// Call returns a tool call, or a fragment of one.
func Call(id, name, arguments string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartToolCall, ID: id, Name: name, RawArguments: arguments}}
}

// Result returns the result of a tool call.
func Result(callID, text string) Content {
	return Content{Part: perdure.Part{Type: perdure.PartToolResult, ToolCallID: callID, Parts: []perdure.Part{perdure.Text(text)}}}
}

// Message is one message of a merged response.
type Message struct {
	ID                                                string
	ProviderResponseID, AgentID, InvocationID, Author string
	// Role is the role in the updates; by default assistant, or tool_result for a result.
	Role perdure.Role
	// CreatedAt is the first valid CreatedAt of the message's updates.
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
	// CreatedAt is the first valid CreatedAt of all updates.
	CreatedAt perdure.Time
	Messages  []Message
	// FinishReason is the last reason in the updates. Usage is the sum of all usages; nil if there
	// was none.
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

// valid reports whether t is after the Unix epoch.
func valid(t perdure.Time) bool { return t.Unix() > 0 || t.Unix() == 0 && t.Nanosecond() > 0 }
