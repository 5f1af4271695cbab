package apply

import (
	"crypto/sha256"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// setBarrier writes a barrier to the row of a compaction. It is separate from the insert of
// entries, because most entries are no compactions and have no barrier.
var setBarrier = statement.Update("agent_entry", statement.Columns("keep_segment, keep_depth, barrier"), statement.Columns("agent_execution_id, id"))

var (
	insertEntry = statement.Declare(load.EntryRows.InsertStatement(statement.Returning("number")))

	entryHead = "SELECT h.id, h.parent_id, h.entry_type, h.role, h.entry_key, h.content_sha256, h.open_calls, h.response_id" + load.TreeColumns +
		" FROM agent_entry h WHERE h.agent_execution_id = ?"
	entryHeadID  = statement.Read(entryHead + " AND h.id = ?")
	entryHeadKey = statement.Read(entryHead + " AND h.entry_key = ?")
)

// putEntry inserts an entry and returns its number.
func putEntry(v statement.View, execution uuid.UUID, e *store.Entry, at load.TreePlace, b *load.Barrier, now perdure.Time) (number int64, err error) {
	body := planContent(e.Content, e.Blob)
	stored := e.Entry
	stored.Blob = body.ref
	r := load.EntryRow{Execution: execution, Entry: &stored, Open: e.Open, Place: at}
	if body.ref != nil {
		r.Hash = body.ref.SHA256
	} else {
		r.Hash = sha256.Sum256(e.Content)
	}
	values, err := load.EntryRows.Values(&r)
	if err != nil {
		return 0, err
	}
	if _, err = v.One(insertEntry, append(values, body.column()), &number); err != nil {
		return 0, err
	}
	if err := putBarrier(v, execution, e.ID, b); err != nil {
		return 0, err
	}
	return number, spill(v, execution, now, body)
}

// loadEntryHead reads an entry's place in the tree and the fields that the transcript rules (see
// perdure.CheckAppend) need.
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

var insertCheckpoint = statement.Declare(load.CheckpointRows.InsertStatement())

func putCheckpoint(v statement.View, execution uuid.UUID, c *perdure.Checkpoint, now perdure.Time) error {
	body := planContent(c.State, c.Blob)
	stored := *c
	stored.Blob = body.ref
	values, err := load.CheckpointRows.Values(&load.CheckpointRow{Execution: execution, Checkpoint: &stored})
	if err == nil {
		err = v.Write(insertCheckpoint, append(values, body.column())...)
	}
	if err == nil {
		err = v.Write(supersede, execution[:], c.Sequence-1)
	}
	if err != nil {
		return err
	}
	return spill(v, execution, now, body)
}
