package client

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Names of events on the wire that no record of the log has.
const (
	// EventSnapshot replaces what is held of a block.
	EventSnapshot perdure.EventType = "snapshot"
	// EventReset says that what was read before does not fit the log any more:
	// drop it; the log follows from its first record.
	EventReset perdure.EventType = "reset"

	eventPing perdure.EventType = "ping"
	eventEnd  perdure.EventType = "end"
)

// Event is one record of a log as clients see it.
type Event struct {
	// Cursor resumes after the event.
	Cursor string            `json:"cursor"`
	Type   perdure.EventType `json:"event"`
	Data   json.RawMessage   `json:"data"`
}

// Head is what the data of events have in common, and the members of chunks.
type Head struct {
	Seq         int64        `json:"seq"`
	ExecutionID uuid.UUID    `json:"agentExecutionId"`
	CreatedAt   perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  *uuid.UUID `json:"taskExecutionId"`
	Attempt int        `json:"attempt"`

	// Offset in bytes, Stream (stdout, stderr) and Data are of chunks and
	// snapshots, Data is of the type data, too.
	Offset int64           `json:"offset"`
	Stream string          `json:"stream"`
	Data   json.RawMessage `json:"data"`
	// Type is that of the block, in snapshots.
	Type perdure.EventType `json:"type"`
}

// Head decodes what events have in common.
func (e Event) Head() (Head, error) {
	var h Head
	err := e.Decode(&h)
	return h, err
}

// Decode decodes the event's data. Error: internal.
func (e Event) Decode(into any) error {
	if err := json.Unmarshal(e.Data, into); err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "the data of an event " + string(e.Type) + " does not decode", Err: err}
	}
	return nil
}

// Text is the chunk's text; "" where the data is none.
func (h Head) Text() string {
	var text string
	if json.Unmarshal(h.Data, &text) != nil {
		return ""
	}
	return text
}

// Reset is the data of a reset.
type Reset struct {
	Reason         string `json:"reason"` // ahead, epoch or truncated
	FirstAvailable int64  `json:"firstAvailable"`
	LastSeq        int64  `json:"lastSeq"`
}
