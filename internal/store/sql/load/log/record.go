package log

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/row"
)

// RecordRow is the row of an event in a log.
type RecordRow struct {
	Execution uuid.UUID
	perdure.Record
	Of []byte // the stored reference to the event's fields, if an entry contains them
}

// RecordRows declares the rows of the table of events.
var RecordRows = row.New("log_record", 2, []row.Field[RecordRow]{
	row.ID("agent_execution_id", func(x *RecordRow) *uuid.UUID { return &x.Execution }).Unread(),
	row.Number("pos", func(x *RecordRow) *int64 { return &x.Pos }),
	row.Number("seq", func(x *RecordRow) *int64 { return &x.Seq }),
	row.Text("type", func(x *RecordRow) *perdure.EventType { return &x.Type }),
	row.Time("created_at", func(x *RecordRow) *perdure.Time { return &x.CreatedAt }),
	row.OptText("response_id", func(x *RecordRow) *string { return &x.Place.ResponseID }),
	row.OptText("turn_id", func(x *RecordRow) *string { return &x.Place.TurnID }),
	row.OptText("message_id", func(x *RecordRow) *string { return &x.Place.MessageID }),
	row.OptText("tool_call_id", func(x *RecordRow) *string { return &x.Place.ToolCallID }),
	row.OptID("task_id", func(x *RecordRow) **uuid.UUID { return &x.TaskID }),
	row.Number("attempt", func(x *RecordRow) *int { return &x.Attempt }),
	row.RawText("fields", func(x *RecordRow) *json.RawMessage { return &x.Fields }),
	row.Blob("fields_blob", func(x *RecordRow) **perdure.BlobRef { return &x.Blob }),
	row.Bytes("fields_of", func(x *RecordRow) *[]byte { return &x.Of }),
	row.Encoded("nonce", func(x *RecordRow) any { return StoredNonce(x.Nonce) }, func(x *RecordRow) any { return NonceInto(&x.Nonce) }),
})
