package openaiapi

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/eventlog"
)

// record is what a response needs of a record of the log.
type record struct {
	event     perdure.EventType
	pos       int64
	Seq       int64        `json:"seq"`
	CreatedAt perdure.Time `json:"createdAt"`
	perdure.Place
	TaskID  string `json:"taskExecutionId"`
	Attempt int    `json:"attempt"`

	// A piece of a block, or an event of type data.
	Data json.RawMessage `json:"data"`

	BlockSeq int64  `json:"blockSeq"` // block.closed
	Reason   string `json:"reason"`   // block.closed, agent.waiting

	Wait *perdure.Wait `json:"wait"` // agent.waiting

	// entry.appended
	EntryID      uuid.UUID         `json:"id"`
	EntryType    perdure.EntryType `json:"entryType"`
	Role         perdure.Role      `json:"role"`
	Content      json.RawMessage   `json:"content"`
	ContentBytes int64             `json:"contentBytes"`

	// agent.failed
	Error string `json:"error"`
	Code  string `json:"code"`
}

func recordOf(i eventlog.Item) (record, error) {
	r := record{event: i.Event, pos: i.Cursor.Pos}
	if i.Event == "" {
		r.Seq = i.Seq // not 0: a later piece of a block whose content is kept no longer
		return r, nil
	}
	if err := json.Unmarshal(i.Data, &r); err != nil {
		return r, &perdure.Error{Code: perdure.Internal, Message: "a record of the log does not decode", Err: err}
	}
	return r, nil
}

// waitsForInput tells of a wait by which responses are over.
func (r record) waitsForInput() bool {
	return r.event == perdure.EventWaiting && r.Reason == "signal" && r.Wait != nil && r.Wait.TakesSignal(perdure.UserMessage)
}

// end is what an agent says of the end of a response.
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
