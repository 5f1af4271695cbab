package eventlog

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// common holds the leading members of the data of every record.
type common struct {
	Seq         int64        `json:"seq"`
	ExecutionID uuid.UUID    `json:"agentExecutionId"`
	CreatedAt   perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  *uuid.UUID `json:"taskExecutionId,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
}

// commonNames are the members of common; an event's own fields cannot replace them.
var commonNames = []string{
	"seq", "agentExecutionId", "createdAt", "responseId", "turnId", "messageId", "toolCallId", "taskExecutionId", "attempt",
}

// chunk is the data of a chunk of a block, or of a snapshot of a block.
type chunk struct {
	common
	Offset   int64             `json:"offset"`
	Type     perdure.EventType `json:"type,omitempty"` // the type of the block; only in snapshots
	Stream   string            `json:"stream,omitempty"`
	Data     any               `json:"data,omitempty"` // nil if the text is withheld
	Length   int64             `json:"length,omitempty"`
	Content  json.RawMessage   `json:"content,omitempty"`
	Snapshot bool              `json:"snapshot,omitempty"`
}

// callDelta is the data member of a chunk of a tool call's arguments.
type callDelta struct {
	Type     string `json:"type"`
	ToolCall callID `json:"tool_call"`
	Delta    string `json:"delta"`
}

type callID struct {
	ID string `json:"id"`
}

// Data renders a record as the JSON object that clients receive, on one line.
func Data(r perdure.Record, execution uuid.UUID) ([]byte, error) {
	head := common{
		Seq: r.Seq, ExecutionID: execution, CreatedAt: r.CreatedAt, Place: r.Place, TaskID: r.TaskID, Attempt: r.Attempt,
	}
	if c := r.Chunk; c != nil {
		piece := chunk{common: head, Offset: c.Offset, Stream: c.Stream}
		if c.Length > 0 {
			piece.withhold(c.Length)
		} else {
			piece.Data = content(c.Text, c.ToolCallID)
		}
		return encode(piece)
	}
	raw, err := encode(head)
	if err != nil {
		return nil, err
	}
	return merge(raw, r.Fields)
}

// withhold sets the length in place of the text.
func (c *chunk) withhold(length int64) { c.Length, c.Content = length, perdure.OnWorker }

// content returns text, wrapped in a callDelta if it is part of a tool call's arguments.
func content(text, toolCallID string) any {
	if toolCallID == "" {
		return text
	}
	return callDelta{Type: "tool_call_delta", ToolCall: callID{toolCallID}, Delta: text}
}

// BlockData renders a whole block as a snapshot, which replaces the client's copy of the block.
func BlockData(b store.BlockContent, execution uuid.UUID) ([]byte, error) {
	head := common{Seq: b.Seq, ExecutionID: execution, CreatedAt: b.CreatedAt, Place: b.Place}
	if b.Key.TaskID != uuid.Nil {
		head.TaskID, head.Attempt = &b.Key.TaskID, int(b.Key.Attempt)
	}
	call := ""
	if b.Type == perdure.EventData {
		call = b.Place.ToolCallID
	}
	whole := chunk{common: head, Type: b.Type, Stream: b.Stream, Snapshot: true}
	if len(b.Pieces) > 0 {
		whole.withhold(b.Length)
	} else {
		whole.Data = content(b.Content, call)
	}
	return encode(whole)
}

// ResetData is the data of a reset. The client drops what it has, and the log follows from
// FirstAvailable.
type ResetData struct {
	Reason         string `json:"reason" enum:"ahead,epoch,truncated"`
	FirstAvailable int64  `json:"firstAvailable" doc:"Seq of the first event that is still there."`
	LastSeq        int64  `json:"lastSeq" doc:"Seq of the newest event."`
}

// Reasons of a reset.
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

// merge appends the members of fields to the object head. It leaves out members named in
// commonNames, because only the log sets them.
func merge(head []byte, fields json.RawMessage) ([]byte, error) {
	if len(fields) == 0 {
		return head, nil
	}
	members, err := membersOf(fields)
	if err != nil {
		return nil, err
	}
	merged := make([]byte, 0, len(head)+len(fields))
	merged = append(merged, head[:len(head)-1]...)
	for _, m := range members {
		if slices.Contains(commonNames, string(m.name())) {
			continue
		}
		merged = append(merged, ',')
		merged = append(merged, m.key...)
		merged = append(merged, ':')
		merged = append(merged, m.value...)
	}
	return append(merged, '}'), nil
}
