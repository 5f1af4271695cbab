package load

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// EntryRow is an entry with its execution and the columns for perdure.CheckAppend.
type EntryRow struct {
	Execution uuid.UUID
	*perdure.Entry
	Open  []string // ids of the tool calls that have no result after the entry
	Place TreePlace
	Hash  perdure.Hash // of the content
}

// EntryRows declares the rows of the table of entries.
var EntryRows = row.New("agent_entry", 2, []row.Field[EntryRow]{
	row.ID("agent_execution_id", func(x *EntryRow) *uuid.UUID { return &x.Execution }).Unread(),
	row.ID("id", func(x *EntryRow) *uuid.UUID { return &x.ID }),
	row.OptID("parent_id", func(x *EntryRow) **uuid.UUID { return &x.ParentID }),
	row.Text("entry_type", func(x *EntryRow) *perdure.EntryType { return &x.Type }),
	row.OptText("role", func(x *EntryRow) *perdure.Role { return &x.Role }),
	row.OptText("turn_id", func(x *EntryRow) *string { return &x.TurnID }),
	row.OptText("response_id", func(x *EntryRow) *string { return &x.ResponseID }),
	row.OptText("message_id", func(x *EntryRow) *string { return &x.MessageID }),
	row.RawText("metadata", func(x *EntryRow) *json.RawMessage { return &x.Metadata }),
	row.Time("created_at", func(x *EntryRow) *perdure.Time { return &x.CreatedAt }),
	row.OptText("entry_key", func(x *EntryRow) *string { return &x.Key }),
	row.JSON("calls", func(x *EntryRow) *[]string { return &x.Calls }, isEmpty),
	row.OptText("answers", func(x *EntryRow) *string { return &x.Answers }),
	row.JSON("open_calls", func(x *EntryRow) *[]string { return &x.Open }, isEmpty).Unread(),
	row.Derived("segment", func(x *EntryRow) any { segment, _ := x.Place.Columns(); return segment }).Unread(),
	row.Derived("depth", func(x *EntryRow) any { _, depth := x.Place.Columns(); return depth }).Unread(),
	row.Hash("content_sha256", func(x *EntryRow) *perdure.Hash { return &x.Hash }).Unread(),
	row.Blob("content_blob", func(x *EntryRow) **perdure.BlobRef { return &x.Blob }),
}, "content")

func isEmpty(names *[]string) bool { return len(*names) == 0 }

var (
	// EntryColumns is the list of the columns of a whole entry e.
	EntryColumns = EntryRows.List("e") + ", e.content"
	// EntryFull is the beginning of a query for whole entries, up to its condition.
	EntryFull = "SELECT " + EntryColumns + " FROM agent_entry e"
	entryByID = statement.Read(EntryFull + " WHERE e.agent_execution_id = ? AND e.id = ?")
)

// EntryScan appends the destinations for EntryColumns to dest. If the content is in a blob, only
// the blob's id is scanned.
func EntryScan(dest []any, e *perdure.Entry) []any {
	return append(EntryRows.Scan(dest, &EntryRow{Entry: e}), column.RawInto(&e.Content))
}

// Entry reads an entry with its content; nil if there is none. A content in a blob remains a
// reference.
func Entry(v statement.View, execution, id uuid.UUID) (*perdure.Entry, error) {
	var e perdure.Entry
	found, err := v.One(entryByID, []any{execution[:], id[:]}, EntryScan(nil, &e)...)
	if err != nil || !found {
		return nil, err
	}
	return &e, contents.CompleteRef(v, execution, e.Blob)
}
