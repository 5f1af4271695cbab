package log

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// commonFields are the first members of the JSON of every record.
type commonFields struct {
	Seq         int64        `json:"seq"`
	ExecutionID uuid.UUID    `json:"agentExecutionId"`
	CreatedAt   perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  *uuid.UUID `json:"taskExecutionId,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
}

// commonNames are the JSON names of the fields of commonFields. Members of an event that have such
// a name are left out (see merge).
var commonNames = []string{
	"seq", "agentExecutionId", "createdAt", "responseId", "turnId", "messageId", "toolCallId", "taskExecutionId", "attempt",
}

// chunk is the JSON of a chunk of a block, or of a snapshot of a block.
type chunk struct {
	commonFields
	Offset   int64             `json:"offset"`
	Type     perdure.EventType `json:"type,omitempty"` // type of the block; set only in snapshots
	Stream   string            `json:"stream,omitempty"`
	Data     any               `json:"data,omitempty"` // nil if only the execution's worker stores the text
	Length   int64             `json:"length,omitempty"`
	Content  json.RawMessage   `json:"content,omitempty"`
	Snapshot bool              `json:"snapshot,omitempty"`
}

// callDelta is the value of the JSON member "data" in a chunk that belongs to the arguments of a
// tool call.
type callDelta struct {
	Type     string `json:"type"`
	ToolCall callID `json:"tool_call"`
	Delta    string `json:"delta"`
}

type callID struct {
	ID string `json:"id"`
}

// withhold replaces the text of a chunk by its length, because only the execution's worker stores
// the text.
func (c *chunk) withhold(length int64) { c.Length, c.Content = length, perdure.OnWorker }

// content returns the value of a chunk's JSON member "data". For a chunk of a tool call's arguments
// it is a callDelta, for any other chunk the text.
func content(text, toolCallID string) any {
	if toolCallID == "" {
		return text
	}
	return callDelta{Type: "tool_call_delta", ToolCall: callID{toolCallID}, Delta: text}
}

// ResetData is the data of a reset. The client must drop all events that it has received. After
// the reset, the client receives the log again, from the event with the seq FirstAvailable.
type ResetData struct {
	Reason         string `json:"reason" enum:"ahead,epoch,truncated"`
	FirstAvailable int64  `json:"firstAvailable" doc:"Seq of the first event that is still there."`
	LastSeq        int64  `json:"lastSeq" doc:"Seq of the newest event."`
}

// These are the reasons for a reset.
const (
	ResetAhead     = "ahead"     // the cursor is past the end of the log
	ResetEpoch     = "epoch"     // the cursor belongs to another log, or to this log before a restore
	ResetTruncated = "truncated" // the records after the cursor were pruned
)

// encode returns v as JSON on one line, without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, &perdure.Error{Code: perdure.Internal, Message: "a record does not encode", Err: err}
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// merge adds members to the JSON object `head`. It leaves out members whose names are in
// commonNames, because only package log sets these members.
func merge(head []byte, members []member) []byte {
	if len(members) == 0 {
		return head
	}
	size := len(head)
	for _, m := range members {
		size += len(m.key) + len(m.value) + 2
	}
	merged := append(make([]byte, 0, size), head[:len(head)-1]...)
	for _, m := range members {
		if slices.Contains(commonNames, string(m.name())) {
			continue
		}
		merged = append(merged, ',')
		merged = append(merged, m.key...)
		merged = append(merged, ':')
		merged = append(merged, m.value...)
	}
	return append(merged, '}')
}
