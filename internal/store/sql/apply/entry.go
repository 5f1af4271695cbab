package apply

import (
	"crypto/sha256"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/row"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var entryTable = row.Table{Name: "agent_entry", Key: 2, Contents: 1, Columns: []string{
	"agent_execution_id", "id", "parent_id", "entry_type", "role", "turn_id", "response_id", "message_id", "metadata",
	"created_at", "entry_key", "calls", "answers", "open_calls", "segment", "depth", "content_sha256", "content_blob", "content",
}}

// setBarrier is a statement of its own, so that other entries do not write the columns.
var setBarrier = statement.Update("agent_entry", statement.Columns("keep_segment, keep_depth, barrier"), statement.Columns("agent_execution_id, id"))

var (
	insertEntry = statement.Declare(entryTable.InsertStatement(statement.Returning("number")))

	entryHead = "SELECT h.id, h.parent_id, h.entry_type, h.role, h.entry_key, h.content_sha256, h.open_calls, h.response_id" + load.TreeColumns +
		" FROM agent_entry h WHERE h.agent_execution_id = ?"
	entryHeadID  = statement.Read(entryHead + " AND h.id = ?")
	entryHeadKey = statement.Read(entryHead + " AND h.entry_key = ?")
)

// putEntry inserts an entry and returns its number.
func putEntry(v statement.View, execution uuid.UUID, e *store.Entry, at load.TreePlace, b *load.Barrier, now perdure.Time) (number int64, err error) {
	body := planContent(e.Content, e.Blob)
	hash := perdure.Hash(sha256.Sum256(e.Content))
	if body.ref != nil {
		hash = body.ref.SHA256
	}
	calls, err := optList(e.Calls)
	if err != nil {
		return 0, err
	}
	open, err := optList(e.Open)
	if err != nil {
		return 0, err
	}
	segment, depth := at.Columns()
	_, err = v.One(insertEntry, []any{
		execution[:], e.ID[:], column.OptID(e.ParentID), string(e.Type), column.OptText(e.Role), column.OptText(e.TurnID), column.OptText(e.ResponseID),
		column.OptText(e.MessageID), column.RawText(e.Metadata), column.Millis(e.CreatedAt), column.OptText(e.Key), calls, column.OptText(e.Answers), open,
		segment, depth, hash[:], column.RefID(body.ref), body.column(),
	}, &number)
	if err != nil {
		return 0, err
	}
	if err := putBarrier(v, execution, e.ID, b); err != nil {
		return 0, err
	}
	return number, spill(v, execution, now, body)
}

// optList encodes a list of names; NULL if it is empty.
func optList(names []string) (any, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return column.Encode(names)
}

// loadEntryHead reads an entry's place in the tree and those fields that the transcript rules need.
func loadEntryHead(v statement.View, query *statement.Statement, args ...any) (h perdure.EntryHead, at load.TreePlace, found bool, err error) {
	found, err = v.One(query, args, append([]any{
		&h.ID,
		column.OptIDInto(&h.ParentID),
		column.TextInto(&h.Type),
		column.TextInto(&h.Role),
		column.TextInto(&h.Key),
		column.HashInto(&h.Hash),
		column.JSONInto(&h.Open),
		column.TextInto(&h.ResponseID),
	}, load.TreeScan(&at)...)...)
	return h, at, found, err
}

var insertCheckpoint = statement.Insert("agent_checkpoint", "agent_execution_id, sequence, leaf_entry_id, metadata, created_at, state_blob, state")

func putCheckpoint(v statement.View, execution uuid.UUID, c *perdure.Checkpoint, now perdure.Time) error {
	body := planContent(c.State, c.Blob)
	err := v.Write(insertCheckpoint, execution[:], c.Sequence, column.OptID(c.LeafEntryID), column.RawText(c.Metadata), column.Millis(c.CreatedAt),
		column.RefID(body.ref), body.column())
	if err == nil {
		err = v.Write(supersede, execution[:], c.Sequence-1)
	}
	if err != nil {
		return err
	}
	return spill(v, execution, now, body)
}
