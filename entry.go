package perdure

import (
	"bytes"
	"encoding/json"

	"github.com/google/uuid"
)

// EntryType tells the kinds of entries apart.
type EntryType string

const (
	// EntryMessage is a message of the conversation. Only entries of this type
	// and injections lie on the path from root to leaf.
	EntryMessage EntryType = "message"
	// EntryLLMCall records a model call. It hangs off the path.
	EntryLLMCall EntryType = "llm_call"
	// EntryInjection is context that an operator put in.
	EntryInjection EntryType = "injection"
)

// Entry is an immutable node of an execution's conversation tree.
type Entry struct {
	ID         uuid.UUID       `json:"id"`
	ParentID   *uuid.UUID      `json:"parentId"`
	Type       EntryType       `json:"entryType"`
	Role       Role            `json:"role" nullable:"true"`
	TurnID     string          `json:"turnId" nullable:"true"`
	ResponseID string          `json:"responseId" nullable:"true"`
	MessageID  string          `json:"messageId" nullable:"true"`
	Content    json.RawMessage `json:"content"`
	// ContentBytes and ContentSHA256 are shown to clients where the content
	// itself is not.
	ContentBytes  int64           `json:"contentBytes,omitempty" wire:"-"`
	ContentSHA256 string          `json:"contentSha256,omitempty" wire:"-"`
	Metadata      json.RawMessage `json:"metadata"`
	CreatedAt     Time            `json:"createdAt"`

	// Key makes an append idempotent: unique in the execution if not "".
	Key string `json:"-"`
	// Calls are the ids of the tool calls that the entry makes, and Answers the
	// id of the one that it answers. They stand beside the content so that the
	// transcript rules hold without reading it.
	Calls   []string `json:"-"`
	Answers string   `json:"-"`
	// Blob holds the content where it is over InlineLimit and not loaded.
	Blob *BlobRef `json:"-"`
}

// MarshalJSON writes every member, null where there is nothing, but for those
// that stand for a content that is left out.
func (e Entry) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false) // what writes the whole decides
	err := out.Encode(struct {
		ID            uuid.UUID       `json:"id"`
		ParentID      *uuid.UUID      `json:"parentId"`
		Type          EntryType       `json:"entryType"`
		Role          *Role           `json:"role"`
		TurnID        *string         `json:"turnId"`
		ResponseID    *string         `json:"responseId"`
		MessageID     *string         `json:"messageId"`
		Content       json.RawMessage `json:"content"`
		ContentBytes  int64           `json:"contentBytes,omitempty"`
		ContentSHA256 string          `json:"contentSha256,omitempty"`
		Metadata      json.RawMessage `json:"metadata"`
		CreatedAt     Time            `json:"createdAt"`
	}{
		e.ID, e.ParentID, e.Type, orNull(e.Role), orNull(e.TurnID), orNull(e.ResponseID), orNull(e.MessageID),
		e.Content, e.ContentBytes, e.ContentSHA256, e.Metadata, e.CreatedAt,
	})
	return b.Bytes(), err
}

// orNull is nil for "".
func orNull[T ~string](s T) *T {
	if s == "" {
		return nil
	}
	return &s
}

// OnPath tells whether the entry can be part of the path that a model sees.
func (e Entry) OnPath() bool { return e.Type != EntryLLMCall }

// Message decodes the entry's content.
func (e Entry) Message() (Message, error) {
	m := Message{Role: e.Role}
	if err := json.Unmarshal(e.Content, &m.Content); err != nil {
		return Message{}, &Error{Code: Internal, Message: "entry " + e.ID.String() + " does not decode", Err: err}
	}
	return m, nil
}

// EntryHead is what the transcript rules know of an entry: its place, and the
// calls that stand open after it on its path.
type EntryHead struct {
	ID       uuid.UUID
	ParentID *uuid.UUID
	Type     EntryType
	Role     Role
	Key      string
	Hash     Hash // of content, to tell a repeat from another entry
	Open     []string
	// ResponseID is the response that the entry belongs to.
	ResponseID string
}

// NewMessageEntry makes an entry of a message, with a random id.
func NewMessageEntry(m Message) (Entry, error) {
	content, err := json.Marshal(m.Content)
	if err != nil {
		return Entry{}, FieldErrorf("content", "does not encode: %v", err)
	}
	e := Entry{ID: uuid.Must(uuid.NewV7()), Type: EntryMessage, Role: m.Role, Content: content}
	e.Calls, e.Answers = callsOf(m)
	return e, nil
}

func callsOf(m Message) (calls []string, answers string) {
	for _, p := range m.Parts {
		switch p.Type {
		case PartToolCall:
			calls = append(calls, p.ID)
		case PartToolResult:
			answers = p.ToolCallID
		}
	}
	return calls, answers
}
