package openaiapi

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
)

// record is the part of a log record that a response needs.
type record struct {
	event     perdure.EventType
	pos       int64
	Seq       int64        `json:"seq"`
	CreatedAt perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  string `json:"taskExecutionId"`
	Attempt int    `json:"attempt"`

	// In a chunk of a block, or an event of type data.
	Data json.RawMessage `json:"data"`

	BlockSeq int64  `json:"blockSeq"` // in block.closed
	Reason   string `json:"reason"`   // in block.closed and agent.waiting

	Wait *perdure.Wait `json:"wait"` // in agent.waiting

	// In entry.appended.
	EntryID      uuid.UUID         `json:"id"`
	EntryType    perdure.EntryType `json:"entryType"`
	Role         perdure.Role      `json:"role"`
	Content      json.RawMessage   `json:"content"`
	ContentBytes int64             `json:"contentBytes"`

	// In agent.failed.
	Error string `json:"error"`
	Code  string `json:"code"`
}

func recordOf(i eventlog.Item) (record, error) {
	r := record{event: i.Event, pos: i.Cursor.Pos}
	if i.Event == "" {
		r.Seq = i.Seq // if not 0: a later chunk of a superseded block
		return r, nil
	}
	if err := json.Unmarshal(i.Data, &r); err != nil {
		return r, &perdure.Error{Code: perdure.Internal, Message: "a record of the log does not decode", Err: err}
	}
	return r, nil
}

// waitsForInput reports whether the record is a wait that ends a response.
func (r record) waitsForInput() bool {
	return r.event == perdure.EventWaiting && r.Reason == "signal" && r.Wait != nil && r.Wait.TakesSignal(perdure.UserMessage)
}

// end is the data event with which an agent ends a response.
type end struct {
	Type       string             `json:"type"`
	StopReason perdure.StopReason `json:"stopReason"`
	Error      string             `json:"error"`
}

func (r record) end() (end, bool) {
	var e end
	return e, r.event == perdure.EventData && len(r.Data) > 0 && r.Data[0] == '{' &&
		json.Unmarshal(r.Data, &e) == nil && e.Type == "response_end"
}
