package apply

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// This file deletes data whose retention period is over. First it marks the data as deleted, then
// it deletes the rows, a limited number at a time.
//

var (
	markWhole = statement.Alone("INSERT INTO pruning (agent_execution_id, whole) VALUES (?, 1) ON CONFLICT (agent_execution_id) DO UPDATE SET whole = 1")
	markPart  = statement.Alone("INSERT INTO pruning (agent_execution_id, whole) VALUES (?, 0) ON CONFLICT (agent_execution_id) DO NOTHING")
	unmark    = statement.Remove("pruning", statement.Columns("agent_execution_id"))
	wholeGone = statement.Read("SELECT whole FROM pruning WHERE agent_execution_id = ?")
)

func (t *Transaction) applyPrune(id uuid.UUID, p *store.Prune) error {
	if p == nil {
		return nil
	}
	if p.Execution {
		if err := t.execAll(id, markWhole, dropIdempotency, dropTimer); err != nil {
			return err
		}
		t.Forget(id)
	}
	if p.Log {
		if err := t.keepPruned(id); err != nil {
			return err
		}
		err := t.execAll(id,
			pruneHead,
			pruneExecution,
			pruneRetention, markPart)
		if err != nil {
			return err
		}
	}
	if p.Checkpoints != nil {
		if err := t.dropCheckpoints(id, *p.Checkpoints, p.Rows); err != nil {
			return err
		}
	} else if p.Rows > 0 {
		return t.dropRows(id, p.Rows)
	}
	return nil
}

var (
	dropIdempotency = statement.Remove("idempotency", statement.Columns("agent_execution_id"))
	pruneHead       = statement.Alone("UPDATE log_head SET first_pos = last_pos WHERE agent_execution_id = ?")
	pruneExecution  = statement.Update("agent_execution", statement.Terms{}.Fixed("log_pruned", "= 1"), statement.Columns("id"))
	pruneRetention  = statement.Update("agent_retention", statement.Terms{}.Fixed("log_pruned", "= 1"), statement.Columns("agent_execution_id"))
)

// execAll runs statements whose only parameter is the id of the execution.
func (t *Transaction) execAll(id uuid.UUID, queries ...*statement.Statement) error {
	for _, query := range queries {
		if err := t.Write(query, id[:]); err != nil {
			return err
		}
	}
	return nil
}

var (
	oldCheckpoints = statement.Read("SELECT sequence, state_blob FROM agent_checkpoint WHERE agent_execution_id = ?1 AND created_at <= ?2 AND superseded = 1" +
		" AND sequence < (SELECT max(sequence) FROM agent_checkpoint WHERE agent_execution_id = ?1) ORDER BY sequence LIMIT ?3")
	dropCheckpoint = statement.Remove("agent_checkpoint", statement.Columns("agent_execution_id, sequence"))
	supersede      = statement.Update("agent_checkpoint", statement.Terms{}.Fixed("superseded", "= 1"), statement.Columns("agent_execution_id, sequence"))
	// killBlob marks a blob as deleted if no row refers to it. Readers then no longer see the blob.
	killBlob = statement.Alone("UPDATE blob SET owned = 2 WHERE agent_execution_id = ?1 AND id = ?2" +
		" AND NOT EXISTS (SELECT 1 FROM agent_checkpoint WHERE agent_execution_id = ?1 AND state_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM agent_entry WHERE agent_execution_id = ?1 AND content_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM agent_signal WHERE agent_execution_id = ?1 AND value_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM question WHERE agent_execution_id = ?1 AND details_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM task_execution WHERE agent_execution_id = ?1 AND input_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM task_execution WHERE agent_execution_id = ?1 AND result_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM agent_execution WHERE id = ?1 AND (input_blob = ?2 OR output_blob = ?2))")
)

func (t *Transaction) dropCheckpoints(id uuid.UUID, before perdure.Time, limit int) error {
	var (
		sequences []int64
		blobs     []uuid.UUID
	)
	err := t.Each(oldCheckpoints, []any{id[:], column.Millis(before), limit}, func(row func(...any) error) error {
		var (
			sequence int64
			blob     *uuid.UUID
		)
		err := row(&sequence, column.OptIDInto(&blob))
		sequences = append(sequences, sequence)
		if blob != nil {
			blobs = append(blobs, *blob)
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, sequence := range sequences {
		if err := t.Write(dropCheckpoint, id[:], sequence); err != nil {
			return err
		}
	}
	for _, blob := range blobs {
		if err := t.Write(killBlob, id[:], blob[:]); err != nil {
			return err
		}
	}
	if len(blobs) == 0 {
		return nil
	}
	return t.Write(markPart, id[:])
}

// dropping is a deletion of at most ?2 rows of the execution ?1 from one table.
type dropping struct {
	query   *statement.Statement
	cost    int  // cost of deleting one row: higher for rows that may be large
	entries bool // if set, dropEntries is called and the field query is not used
}

// largeRow is the cost of deleting a row that may contain a chunk of a blob or a block. A small row
// has the cost 1.
const largeRow = 8

// drop returns a dropping that deletes rows of a table. The columns in the text `key` identify a
// row of the execution.
func drop(table, key string, cost int) dropping {
	key = "agent_execution_id, " + key
	return dropping{
		query: statement.Alone("DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + key + " FROM " + table + " WHERE agent_execution_id = ?1 LIMIT ?2)"),
		cost:  cost,
	}
}

var (
	dropsLog = []dropping{
		{query: statement.Alone("DELETE FROM log_record WHERE agent_execution_id = ?1 AND pos IN (SELECT r.pos FROM log_head h JOIN log_record r ON r.agent_execution_id = ?1" +
			" WHERE h.agent_execution_id = ?1 AND r.pos < h.first_pos ORDER BY r.pos LIMIT ?2)"), cost: 1},
		{query: statement.Alone("DELETE FROM log_block WHERE (agent_execution_id, task_id, attempt, block) IN (SELECT b.agent_execution_id, b.task_id, b.attempt, b.block" +
			" FROM log_head h JOIN log_block b ON b.agent_execution_id = ?1 WHERE h.agent_execution_id = ?1 AND h.first_pos > 0 LIMIT ?2)"), cost: largeRow},
	}
	dropsDead = []dropping{
		{query: statement.Alone("DELETE FROM blob_chunk WHERE (agent_execution_id, id, n) IN (SELECT c.agent_execution_id, c.id, c.n FROM blob b" +
			" JOIN blob_chunk c ON c.agent_execution_id = b.agent_execution_id AND c.id = b.id WHERE b.agent_execution_id = ?1 AND b.owned = 2 LIMIT ?2)"), cost: largeRow},
		{query: statement.Alone("DELETE FROM blob WHERE (agent_execution_id, id) IN (SELECT agent_execution_id, id FROM blob WHERE agent_execution_id = ?1 AND owned = 2 LIMIT ?2)"), cost: 1},
	}
	dropsPart = append(slices.Clone(dropsLog), dropsDead...)

	// dropsWhole deletes the rows of a whole execution, each before the rows to which it refers.
	// Tables that are not listed have few rows, which are deleted with the execution's own row.
	dropsWhole = []dropping{
		drop("agent_metadata", "key", 1),
		drop("agent_checkpoint", "sequence", 1),
		drop("task_execution", "id", 1),
		{query: statement.Alone("DELETE FROM log_record WHERE agent_execution_id = ?1 AND pos IN (SELECT pos FROM log_record WHERE agent_execution_id = ?1 ORDER BY pos LIMIT ?2)"), cost: 1},
		drop("log_block", "task_id, attempt, block", largeRow),
		drop("agent_entry_text", "hash", 1),
		{entries: true},
		drop("agent_segment", "segment", 1),
		drop("agent_signal", "id", 1),
		drop("question_link", "question_id, token_sha256", 1),
		drop("question", "id", 1),
		drop("agent_response", "id", 1),
		drop("log_chunk", "seq, pos", 1),
		drop("blob_chunk", "id, n", largeRow),
		drop("blob", "id", 1),
	}
)

var dropExecution = statement.Remove("agent_execution", statement.Columns("id"))

// dropRows deletes about `rows` rows of an execution that are marked for deletion. If no marked
// rows remain, it deletes the mark; if the whole execution is marked, it deletes the execution's
// own row.
func (t *Transaction) dropRows(id uuid.UUID, rows int) error {
	var whole bool
	marked, err := t.One(wholeGone, []any{id[:]}, column.FlagInto(&whole))
	if err != nil || !marked {
		return err
	}
	drops, last := dropsPart, unmark
	if whole {
		drops, last = dropsWhole, dropExecution
		if err := t.dropTexts(id); err != nil {
			return err
		}
	}
	for _, d := range drops {
		if rows, err = t.dropSome(id, d, rows); err != nil || rows <= 0 {
			return err
		}
	}
	if err := t.Write(last, id[:]); err != nil || !whole {
		return err
	}
	return t.freeNumber()
}

// dropSome deletes rows of one table, each of which costs d.cost. Their total cost is about `rows`
// at most. The result is the cost that is left for other tables.
func (t *Transaction) dropSome(id uuid.UUID, d dropping, rows int) (int, error) {
	if d.entries {
		n, err := t.dropEntries(id, rows)
		return rows - n, err
	}
	limit := (rows + d.cost - 1) / d.cost
	n, err := t.Exec(d.query, id[:], limit)
	return rows - int(n)*d.cost, err
}

var (
	newestEntries = statement.Read("SELECT id FROM agent_entry WHERE agent_execution_id = ? AND number > 0 ORDER BY number DESC LIMIT ?")
	dropEntry     = statement.Remove("agent_entry", statement.Columns("agent_execution_id, id"))
)

// dropEntries deletes entries one by one, the newest first, because the deletion of a parent would
// delete all its descendants in one step.
func (t *Transaction) dropEntries(id uuid.UUID, rows int) (int, error) {
	var entries []uuid.UUID
	err := t.Each(newestEntries, []any{id[:], rows}, func(row func(...any) error) error {
		var entry uuid.UUID
		err := row(&entry)
		entries = append(entries, entry)
		return err
	})
	for _, entry := range entries {
		if err != nil {
			break
		}
		err = t.Write(dropEntry, id[:], entry[:])
	}
	return len(entries), err
}

const (
	// smallBlob is the maximum size, in bytes, of a blob whose rows are all deleted in one step.
	smallBlob = 1 << 20
)

var (
	looseBlobs = statement.Read("SELECT id, held FROM blob WHERE agent_execution_id = ? AND owned = 0 AND created_at <= ?")
	dropBlob   = statement.Remove("blob", statement.Columns("agent_execution_id, id"))
	deadBlob   = statement.Update("blob", statement.Terms{}.Fixed("owned", "= 2"), statement.Columns("agent_execution_id, id"))
)

// dropLooseBlobs deletes uploaded blobs to which no commit refers. The rows of large blobs are
// deleted a few at a time.
func (t *Transaction) dropLooseBlobs(id uuid.UUID, before perdure.Time) error {
	var (
		small, large []uuid.UUID
		freed        int64
	)
	err := t.Each(looseBlobs, []any{id[:], column.Millis(before)}, func(row func(...any) error) error {
		var (
			blob uuid.UUID
			held int64
		)
		err := row(&blob, &held)
		freed += held
		if held <= smallBlob {
			small = append(small, blob)
		} else {
			large = append(large, blob)
		}
		return err
	})
	for _, blob := range small {
		if err == nil {
			err = t.Write(dropBlob, id[:], blob[:])
		}
	}
	for _, blob := range large {
		if err == nil {
			err = t.Write(deadBlob, id[:], blob[:])
		}
	}
	if err == nil && len(large) > 0 {
		err = t.Write(markPart, id[:])
	}
	if err == nil && freed > 0 {
		err = t.takeStored(id, freed)
	}
	return err
}

// applyFree returns unused pages to the file system, at most the given number.
func (t *Transaction) applyFree(pages int) error {
	if pages <= 0 || t.Dialect.Free == nil {
		return nil
	}
	t.freed = true
	return t.Dialect.Free(t.Context, t.Conn, pages)
}
