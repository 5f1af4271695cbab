package relational

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// This file deletes data whose retention period is over: the data is first marked, then deleted a
// few rows at a time.

// hidden is a condition on an execution x: it is not being deleted.
const hidden = "NOT EXISTS (SELECT 1 FROM pruning gone WHERE gone.agent_execution_id = x.id AND gone.whole = 1)"

var (
	markWhole = alone("INSERT INTO pruning (agent_execution_id, whole) VALUES (?, 1) ON CONFLICT (agent_execution_id) DO UPDATE SET whole = 1")
	markPart  = alone("INSERT INTO pruning (agent_execution_id, whole) VALUES (?, 0) ON CONFLICT (agent_execution_id) DO NOTHING")
	unmark    = remove("pruning", columns("agent_execution_id"))
	wholeGone = read("SELECT whole FROM pruning WHERE agent_execution_id = ?")
)

func (t *Transaction) applyPrune(id uuid.UUID, p *store.Prune) error {
	if p == nil {
		return nil
	}
	if p.Execution {
		if err := t.execAll(id, markWhole, dropIdempotency, dropTimer); err != nil {
			return err
		}
		t.forget(id)
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
	dropIdempotency = remove("idempotency", columns("agent_execution_id"))
	pruneHead       = alone("UPDATE log_head SET first_pos = last_pos WHERE agent_execution_id = ?")
	pruneExecution  = update("agent_execution", Terms{}.fixed("log_pruned", "= 1"), columns("id"))
	pruneRetention  = update("agent_retention", Terms{}.fixed("log_pruned", "= 1"), columns("agent_execution_id"))
)

// execAll runs statements whose only parameter is the execution's id.
func (t *Transaction) execAll(id uuid.UUID, queries ...*Statement) error {
	for _, query := range queries {
		if err := t.write(query, id[:]); err != nil {
			return err
		}
	}
	return nil
}

var (
	oldCheckpoints = read("SELECT sequence, state_blob FROM agent_checkpoint WHERE agent_execution_id = ?1 AND created_at <= ?2 AND superseded = 1" +
		" AND sequence < (SELECT max(sequence) FROM agent_checkpoint WHERE agent_execution_id = ?1) ORDER BY sequence LIMIT ?3")
	dropCheckpoint = remove("agent_checkpoint", columns("agent_execution_id, sequence"))
	supersede      = update("agent_checkpoint", Terms{}.fixed("superseded", "= 1"), columns("agent_execution_id, sequence"))
	// killBlob marks a blob to which no row refers, so that readers no longer see it.
	killBlob = alone("UPDATE blob SET owned = 2 WHERE agent_execution_id = ?1 AND id = ?2" +
		" AND NOT EXISTS (SELECT 1 FROM agent_checkpoint WHERE agent_execution_id = ?1 AND state_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM agent_entry WHERE agent_execution_id = ?1 AND content_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM agent_signal WHERE agent_execution_id = ?1 AND value_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM task_execution WHERE agent_execution_id = ?1 AND input_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM task_execution WHERE agent_execution_id = ?1 AND result_blob = ?2)" +
		" AND NOT EXISTS (SELECT 1 FROM agent_execution WHERE id = ?1 AND (input_blob = ?2 OR output_blob = ?2))")
)

func (t *Transaction) dropCheckpoints(id uuid.UUID, before perdure.Time, limit int) error {
	var (
		sequences []int64
		blobs     []uuid.UUID
	)
	err := t.each(oldCheckpoints, []any{id[:], millis(before), limit}, func(row func(...any) error) error {
		var (
			sequence int64
			blob     *uuid.UUID
		)
		err := row(&sequence, optIDInto(&blob))
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
		if err := t.write(dropCheckpoint, id[:], sequence); err != nil {
			return err
		}
	}
	for _, blob := range blobs {
		if err := t.write(killBlob, id[:], blob[:]); err != nil {
			return err
		}
	}
	if len(blobs) == 0 {
		return nil
	}
	return t.write(markPart, id[:])
}

// dropping is a deletion of at most ?2 rows of an execution from one table.
type dropping struct {
	query   *Statement
	cost    int  // the cost of one row, since some rows may be large
	entries bool // replaces query: see dropEntries
}

// largeRow is the cost of a row that may hold a blob's chunk or a block.
const largeRow = 8

// drop creates a dropping that deletes rows of the table by their key.
func drop(table, key string, cost int) dropping {
	key = "agent_execution_id, " + key
	return dropping{
		query: alone("DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + key + " FROM " + table + " WHERE agent_execution_id = ?1 LIMIT ?2)"),
		cost:  cost,
	}
}

var (
	dropsLog = []dropping{
		{query: alone("DELETE FROM log_record WHERE agent_execution_id = ?1 AND pos IN (SELECT r.pos FROM log_head h JOIN log_record r ON r.agent_execution_id = ?1" +
			" WHERE h.agent_execution_id = ?1 AND r.pos < h.first_pos ORDER BY r.pos LIMIT ?2)"), cost: 1},
		{query: alone("DELETE FROM log_block WHERE (agent_execution_id, task_id, attempt, block) IN (SELECT b.agent_execution_id, b.task_id, b.attempt, b.block" +
			" FROM log_head h JOIN log_block b ON b.agent_execution_id = ?1 WHERE h.agent_execution_id = ?1 AND h.first_pos > 0 LIMIT ?2)"), cost: largeRow},
	}
	dropsDead = []dropping{
		{query: alone("DELETE FROM blob_chunk WHERE (agent_execution_id, id, n) IN (SELECT c.agent_execution_id, c.id, c.n FROM blob b" +
			" JOIN blob_chunk c ON c.agent_execution_id = b.agent_execution_id AND c.id = b.id WHERE b.agent_execution_id = ?1 AND b.owned = 2 LIMIT ?2)"), cost: largeRow},
		{query: alone("DELETE FROM blob WHERE (agent_execution_id, id) IN (SELECT agent_execution_id, id FROM blob WHERE agent_execution_id = ?1 AND owned = 2 LIMIT ?2)"), cost: 1},
	}
	dropsPart = append(slices.Clone(dropsLog), dropsDead...)

	// Rows are deleted before the rows to which they refer. Tables that are not listed have few
	// rows; these are deleted together with the execution's own row.
	dropsWhole = []dropping{
		drop("agent_metadata", "key", 1),
		drop("agent_checkpoint", "sequence", 1),
		drop("task_execution", "number", 1),
		drop("log_record", "pos", 1),
		drop("log_block", "task_id, attempt, block", largeRow),
		drop("agent_entry_text", "hash", 1),
		{entries: true},
		drop("agent_segment", "segment", 1),
		drop("agent_signal", "id", 1),
		drop("agent_response", "id", 1),
		drop("log_chunk", "seq, pos", 1),
		drop("blob_chunk", "id, n", largeRow),
		drop("blob", "id", 1),
	}
)

var dropExecution = remove("agent_execution", columns("id"))

// dropRows deletes about that many rows that are marked for deletion. If none remain, it deletes
// the mark, or the execution's own row together with the mark.
func (t *Transaction) dropRows(id uuid.UUID, rows int) error {
	var whole bool
	marked, err := t.one(wholeGone, []any{id[:]}, flagInto(&whole))
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
	if err := t.write(last, id[:]); err != nil || !whole {
		return err
	}
	return t.freeNumber()
}

// dropSome deletes rows of one table. It returns how many of the rows may still be deleted.
func (t *Transaction) dropSome(id uuid.UUID, d dropping, rows int) (int, error) {
	if d.entries {
		n, err := t.dropEntries(id, rows)
		return rows - n, err
	}
	limit := (rows + d.cost - 1) / d.cost
	n, err := t.exec(d.query, id[:], limit)
	return rows - int(n)*d.cost, err
}

var (
	newestEntries = read("SELECT id FROM agent_entry WHERE agent_execution_id = ? AND number > 0 ORDER BY number DESC LIMIT ?")
	dropEntry     = remove("agent_entry", columns("agent_execution_id, id"))
)

// dropEntries deletes the newest entries one by one. Deleting a parent first would also delete all
// its descendants.
func (t *Transaction) dropEntries(id uuid.UUID, rows int) (int, error) {
	var entries []uuid.UUID
	err := t.each(newestEntries, []any{id[:], rows}, func(row func(...any) error) error {
		var entry uuid.UUID
		err := row(&entry)
		entries = append(entries, entry)
		return err
	})
	for _, entry := range entries {
		if err != nil {
			break
		}
		err = t.write(dropEntry, id[:], entry[:])
	}
	return len(entries), err
}

const (
	// smallBlob is the size up to which a blob is deleted at once.
	smallBlob = 1 << 20
)

var (
	looseBlobs = read("SELECT id, held FROM blob WHERE agent_execution_id = ? AND owned = 0 AND created_at <= ?")
	dropBlob   = remove("blob", columns("agent_execution_id, id"))
	deadBlob   = update("blob", Terms{}.fixed("owned", "= 2"), columns("agent_execution_id, id"))
)

// dropLooseBlobs deletes uploaded blobs that no commit refers to. Large ones are deleted a few rows
// at a time.
func (t *Transaction) dropLooseBlobs(id uuid.UUID, before perdure.Time) error {
	var (
		small, large []uuid.UUID
		freed        int64
	)
	err := t.each(looseBlobs, []any{id[:], millis(before)}, func(row func(...any) error) error {
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
			err = t.write(dropBlob, id[:], blob[:])
		}
	}
	for _, blob := range large {
		if err == nil {
			err = t.write(deadBlob, id[:], blob[:])
		}
	}
	if err == nil && len(large) > 0 {
		err = t.write(markPart, id[:])
	}
	if err == nil && freed > 0 {
		err = t.takeStored(id, freed)
	}
	return err
}

// applyFree returns unused pages to the file system.
func (t *Transaction) applyFree(pages int) error {
	if pages <= 0 || t.Dialect.Free == nil {
		return nil
	}
	t.freed = true
	return t.Dialect.Free(t.Context, t.Conn, pages)
}
