package client

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Names of wire events that are not records of the log.
const (
	// EventSnapshot replaces the reader's content of a block.
	EventSnapshot perdure.EventType = "snapshot"
	// EventReset says that earlier events no longer match the log. The reader must drop them; the
	// log then follows from its first record.
	EventReset perdure.EventType = "reset"

	eventPing perdure.EventType = "ping"
	eventEnd  perdure.EventType = "end"
)

// Event is one event of a log as clients receive it.
type Event struct {
	// Cursor is the position after the event.
	Cursor string            `json:"cursor"`
	Type   perdure.EventType `json:"event"`
	Data   json.RawMessage   `json:"data"`
}

// Head contains the common members of event data, and the members of chunks.
type Head struct {
	Seq         int64        `json:"seq"`
	ExecutionID uuid.UUID    `json:"agentExecutionId"`
	CreatedAt   perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  *uuid.UUID `json:"taskExecutionId"`
	Attempt int        `json:"attempt"`

	// Offset (in bytes), Stream (stdout, stderr) and Data are members of chunks and snapshots.
	// Events of type data also have Data.
	Offset int64           `json:"offset"`
	Stream string          `json:"stream"`
	Data   json.RawMessage `json:"data"`
	// Type is the type of the block in a snapshot.
	Type perdure.EventType `json:"type"`
}

// Head decodes the common members of the event's data. Errors: internal.
func (e Event) Head() (Head, error) {
	var h Head
	err := e.Decode(&h)
	return h, err
}

// Decode decodes the event's data. Errors: internal.
func (e Event) Decode(into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "the data of an event " + string(e.Type) + " does not decode", Err: err}
	}
	return nil
}

// Text returns the chunk's text, or "" if the data is not text.
func (h Head) Text() string {
	var text string
	if json.Unmarshal(h.Data, &text) != nil {
		return ""
	}
	return text
}

// Reset is the data of a reset event.
type Reset struct {
	Reason         string `json:"reason"` // ahead, epoch or truncated
	FirstAvailable int64  `json:"firstAvailable"`
	LastSeq        int64  `json:"lastSeq"`
}
