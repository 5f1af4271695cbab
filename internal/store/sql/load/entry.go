package load

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	// EntryFull is the beginning of a query for whole entries, up to its condition.
	EntryFull = "SELECT e.id, e.parent_id, e.entry_type, e.role, e.turn_id, e.response_id, e.message_id, e.metadata," +
		" e.created_at, e.entry_key, e.calls, e.answers, e.content_blob, e.content FROM agent_entry e"
	entryByID = statement.Read(EntryFull + " WHERE e.agent_execution_id = ? AND e.id = ?")
)

// EntryScan returns the destinations for the columns of EntryFull. The id of a blob goes to blob.
func EntryScan(e *perdure.Entry, blob **uuid.UUID) []any {
	return []any{
		&e.ID,
		column.OptIDInto(&e.ParentID),
		column.TextInto(&e.Type),
		column.TextInto(&e.Role),
		column.TextInto(&e.TurnID),
		column.TextInto(&e.ResponseID),
		column.TextInto(&e.MessageID),
		column.RawInto(&e.Metadata),
		column.TimeInto(&e.CreatedAt),
		column.TextInto(&e.Key),
		column.JSONInto(&e.Calls),
		column.TextInto(&e.Answers),
		column.OptIDInto(blob),
		column.RawInto(&e.Content),
	}
}

// Entry reads an entry with its content; nil if there is none. A blob remains a reference.
func Entry(v statement.View, execution, id uuid.UUID) (*perdure.Entry, error) {
	var (
		e    perdure.Entry
		blob *uuid.UUID
	)
	found, err := v.One(entryByID, []any{execution[:], id[:]}, EntryScan(&e, &blob)...)
	if err != nil || !found {
		return nil, err
	}
	e.Blob, err = Ref(v, execution, blob)
	return &e, err
}
