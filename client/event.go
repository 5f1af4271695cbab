package client

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// EventSnapshot and the constants below it are names of events that the server sends to readers, and
// that are not in the log.
const (
	// EventSnapshot carries the content of a block so far. It replaces what the reader has of this
	// block.
	EventSnapshot perdure.EventType = "snapshot"
	// EventReset says that the events which the reader has received no longer match the log. The reader
	// must discard them; the log then follows from its first record.
	EventReset perdure.EventType = "reset"

	eventPing perdure.EventType = "ping"
	eventEnd  perdure.EventType = "end"
)

// Event is one event of a log, in the form in which clients receive it.
type Event struct {
	// Cursor is the position in the log after this event.
	Cursor string            `json:"cursor"`
	Type   perdure.EventType `json:"event"`
	Data   json.RawMessage   `json:"data"`
}

// Head contains the members that the data of all events share, and the members of chunks.
type Head struct {
	Seq         int64        `json:"seq"`
	ExecutionID uuid.UUID    `json:"agentExecutionId"`
	CreatedAt   perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  *uuid.UUID `json:"taskExecutionId"`
	Attempt int        `json:"attempt"`

	// Offset (in bytes), Stream ("stdout" or "stderr") and Data are set for chunks and snapshots. Data
	// is also set for events of type data.
	Offset int64           `json:"offset"`
	Stream string          `json:"stream"`
	Data   json.RawMessage `json:"data"`
	// Type is the type of the block, in a snapshot.
	Type perdure.EventType `json:"type"`
}

// Head decodes the members in Head from the event's data. Errors: internal.
func (e Event) Head() (Head, error) {
	var h Head
	err := e.Decode(&h)
	return h, err
}

// Decode decodes the event's data into the variable that `into` points to. Errors: internal.
func (e Event) Decode(into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "the data of an event " + string(e.Type) + " does not decode", Err: err}
	}
	return nil
}

// Text returns the chunk's text. It returns "" if Data is not a JSON string.
func (h Head) Text() string {
	var text string
	if json.Unmarshal(h.Data, &text) != nil {
		return ""
	}
	return text
}

// Reset is the data of an event of type EventReset.
type Reset struct {
	Reason         string `json:"reason"` // "ahead", "epoch" or "truncated"
	FirstAvailable int64  `json:"firstAvailable"`
	LastSeq        int64  `json:"lastSeq"`
}
