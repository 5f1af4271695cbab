package perdure

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

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
// that stand for a content that is left out. Content and metadata are put in as they
// are: who called it checks what a Marshaler returns.
func (e Entry) MarshalJSON() ([]byte, error) {
	return e.AppendJSON(make([]byte, 0, 512+len(e.Content)+len(e.Metadata)))
}

// AppendJSON appends what MarshalJSON returns. Content and metadata are not checked.
func (e *Entry) AppendJSON(b []byte) ([]byte, error) {
	at, err := e.CreatedAt.MarshalJSON()
	if err != nil {
		return nil, err
	}
	b = appendUUID(append(b, `{"id":`...), &e.ID)
	b = appendUUID(append(b, `,"parentId":`...), e.ParentID)
	for _, m := range []struct{ name, value string }{
		{"entryType", string(e.Type)}, {"role", string(e.Role)}, {"turnId", e.TurnID}, {"responseId", e.ResponseID}, {"messageId", e.MessageID},
	} {
		b = append(append(append(b, ',', '"'), m.name...), '"', ':')
		if b, err = appendText(b, m.value, m.name == "entryType"); err != nil {
			return nil, err
		}
	}
	b = appendRaw(append(b, `,"content":`...), e.Content)
	if e.ContentBytes != 0 {
		b = strconv.AppendInt(append(b, `,"contentBytes":`...), e.ContentBytes, 10)
	}
	if e.ContentSHA256 != "" {
		if b, err = appendText(append(b, `,"contentSha256":`...), e.ContentSHA256, true); err != nil {
			return nil, err
		}
	}
	b = appendRaw(append(b, `,"metadata":`...), e.Metadata)
	b = append(append(b, `,"createdAt":`...), at...)
	return append(b, '}'), nil
}

func appendUUID(b []byte, id *uuid.UUID) []byte {
	if id == nil {
		return append(b, "null"...)
	}
	return append(append(append(b, '"'), id.String()...), '"')
}

func appendRaw(b []byte, raw json.RawMessage) []byte {
	if raw == nil {
		return append(b, "null"...)
	}
	return append(b, raw...)
}

// appendText writes a text; an empty one as null, unless it always stands there.
func appendText(b []byte, s string, always bool) ([]byte, error) {
	if s == "" && !always {
		return append(b, "null"...), nil
	}
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) < 0 {
		return append(append(append(b, '"'), s...), '"'), nil
	}
	out := bytes.NewBuffer(b)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false) // what writes the whole decides
	err := encoder.Encode(s)
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), err
}

// OnPath reports whether the entry can be part of the path that a model sees.
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

// NewMessageEntry creates an entry of a message, with a random id.
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
