package perdure

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// EntryType is the kind of an entry.
type EntryType string

const (
	// EntryMessage is a message of the conversation. Only messages, injections and compactions are
	// on the path from root to leaf.
	EntryMessage EntryType = "message"
	// EntryLLMCall records a model call. It is not on the path.
	EntryLLMCall EntryType = "llm_call"
	// EntryInjection is context that an operator added to the conversation.
	EntryInjection EntryType = "injection"
	// EntryCompaction is a summary of the conversation before it. Models see the summary instead of
	// the entries that it covers. The compaction belongs to no response. Its metadata is a
	// CompactionRecord.
	EntryCompaction EntryType = "compaction"
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
	// ContentBytes and ContentSHA256 describe the content to clients that do not receive the
	// content itself.
	ContentBytes  int64           `json:"contentBytes,omitempty" wire:"-"`
	ContentSHA256 string          `json:"contentSha256,omitempty" wire:"-"`
	Metadata      json.RawMessage `json:"metadata"`
	CreatedAt     Time            `json:"createdAt"`

	// Key is the idempotency key with which the entry is appended. It is unique in the execution,
	// except the key "".
	Key string `json:"-"`
	// Calls are the ids of the tool calls in the entry. Answers is the id of the tool call whose
	// result the entry holds. Calls and Answers are stored outside the content, so that the
	// transcript rules can be checked without reading the content.
	Calls   []string `json:"-"`
	Answers string   `json:"-"`
	// Blob refers to the content if the content is over InlineLimit and has not been loaded.
	Blob *BlobRef `json:"-"`
}

// MarshalJSON writes every member, with null for an empty one, except contentBytes and contentSha256,
// which it writes only if they are set. It does not validate content and metadata, because
// encoding/json validates the output of a Marshaler.
func (e Entry) MarshalJSON() ([]byte, error) {
	return e.AppendJSON(make([]byte, 0, 512+len(e.Content)+len(e.Metadata)))
}

// AppendJSON appends the output of MarshalJSON to b. It does not validate content and metadata.
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

// appendText appends a string as JSON. It writes null for an empty string unless `always` is true.
func appendText(b []byte, s string, always bool) ([]byte, error) {
	if s == "" && !always {
		return append(b, "null"...), nil
	}
	if strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) < 0 {
		return append(append(append(b, '"'), s...), '"'), nil
	}
	out := bytes.NewBuffer(b)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false) // the encoder of the outer value escapes HTML if it must
	err := encoder.Encode(s)
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'}), err
}

// OnPath reports whether an entry of this type can be part of the path that a model sees.
func (e Entry) OnPath() bool { return e.Type != EntryLLMCall }

// Message decodes the entry's content.
func (e Entry) Message() (Message, error) {
	m := Message{Role: e.Role}
	if err := json.Unmarshal(e.Content, &m.Content); err != nil {
		return Message{}, &Error{Code: Internal, Message: "entry " + e.ID.String() + " does not decode", Err: err}
	}
	return m, nil
}

// EntryHead is the part of an entry that the transcript rules need: its place in the tree, and the
// tool calls that are open there. A tool call is open if the path up to the entry has no result for
// it.
type EntryHead struct {
	ID       uuid.UUID
	ParentID *uuid.UUID
	Type     EntryType
	Role     Role
	Key      string
	Hash     Hash // of the content; distinguishes a repeated append from another entry
	Open     []string
	// ResponseID is the id of the response to which the entry belongs.
	ResponseID string
}

// NewMessageEntry creates a message entry with a random id.
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
