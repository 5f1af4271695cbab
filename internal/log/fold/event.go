package fold

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Event is a record of a log, together with the stored entry to which the record refers.
type Event struct {
	Record *perdure.Record
	// Entry is the stored entry, if the record is an event entry.appended.
	Entry *perdure.Entry
	// Whole reports that the record's chunk contains its block from the start, as in a snapshot.
	Whole bool
}

// Closed contains the members of an event block.closed.
type Closed struct {
	BlockSeq int64               `json:"blockSeq"`
	Length   int64               `json:"length"`
	Reason   perdure.BlockReason `json:"reason"`
}

// ClosedOf decodes an event block.closed. Errors: internal.
func ClosedOf(r *perdure.Record) (Closed, error) {
	var c Closed
	return c, decode(r, &c)
}

// Waiting contains the members of an event agent.waiting.
type Waiting struct {
	Reason string        `json:"reason"`
	Wait   *perdure.Wait `json:"wait"`
}

// Asked contains the members of an event question.asked.
type Asked struct {
	ID      uuid.UUID            `json:"questionId"`
	Kind    perdure.QuestionKind `json:"kind"`
	Subject string               `json:"subject"`
	Prompt  string               `json:"prompt"`
	// Status is open, or answered if a grant has answered the question at once.
	Status perdure.QuestionStatus `json:"status"`
}

// AskedOf decodes an event question.asked. Errors: internal.
func AskedOf(r *perdure.Record) (Asked, error) {
	var a Asked
	return a, decode(r, &a)
}

// WaitingOf decodes an event agent.waiting. Errors: internal.
func WaitingOf(r *perdure.Record) (Waiting, error) {
	var w Waiting
	return w, decode(r, &w)
}

// Failure contains the members of an event agent.failed.
type Failure struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

// FailureOf decodes an event agent.failed. Errors: internal.
func FailureOf(r *perdure.Record) (Failure, error) {
	var f Failure
	return f, decode(r, &f)
}

// These are values of the JSON member "type" in the payload of a data event. A Tree and other views
// of a log evaluate the data events of these types.
const (
	CallStart   = "tool_call_start"
	CallEnd     = "tool_call_end"
	ResponseEnd = "response_end"
	FileRead    = "file_read"
	FileWrite   = "file_write"
)

// Payload contains the members of a data event's payload that views of a log use.
type Payload struct {
	Type     string `json:"type"`
	ToolCall struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"tool_call"`
	Result *CallResult `json:"result"`
	// StopReason and Error are set in a payload of the type response_end.
	StopReason perdure.StopReason `json:"stopReason"`
	Error      string             `json:"error"`
	// State and Reason are set in a payload of the type compaction. Error is set too if the compaction
	// has failed.
	State  string                   `json:"state"`
	Reason perdure.CompactionReason `json:"reason"`
}

// CallResult is the payload of the event that contains the beginning of a tool's result.
type CallResult struct {
	IsError   bool   `json:"isError"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated"`
}

// PayloadOf returns the payload of a data event. It returns the zero Payload if the record is no
// data event, or if the payload does not decode as a Payload. Applications may write any JSON into
// their data events.
func PayloadOf(r *perdure.Record) Payload {
	var f struct {
		Data json.RawMessage `json:"data"`
	}
	var p Payload
	if r.Type != perdure.EventData || r.Chunk != nil || json.Unmarshal(r.Fields, &f) != nil || json.Unmarshal(f.Data, &p) != nil {
		return Payload{}
	}
	return p
}

func decode(r *perdure.Record, into any) error {
	if len(r.Fields) == 0 {
		return nil
	}
	if err := json.Unmarshal(perdure.ValidJSON(r.Fields), into); err != nil {
		return &perdure.Error{Code: perdure.Internal, Message: "the fields of an event " + string(r.Type) + " do not decode", Err: err}
	}
	return nil
}
