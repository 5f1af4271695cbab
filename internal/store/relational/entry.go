package relational

import (
	"crypto/sha256"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var entryTable = table{name: "agent_entry", key: 2, contents: 1, columns: []string{
	"agent_execution_id", "id", "parent_id", "entry_type", "role", "turn_id", "response_id", "message_id", "metadata",
	"created_at", "entry_key", "calls", "answers", "open_calls", "segment", "depth", "content_sha256", "content_blob", "content",
}}

var (
	insertEntry = declare(entryTable.insertStatement(returning("number")))
	entryFull   = "SELECT e.id, e.parent_id, e.entry_type, e.role, e.turn_id, e.response_id, e.message_id, e.metadata," +
		" e.created_at, e.entry_key, e.calls, e.answers, e.content_blob, e.content FROM agent_entry e"
	entryByID    = read(entryFull + " WHERE e.agent_execution_id = ? AND e.id = ?")
	entriesAfter = read("SELECT e.number, " + entryFull[len("SELECT "):] + " WHERE e.agent_execution_id = ? AND e.number > ? AND e.number > 0 ORDER BY e.number LIMIT ?")

	entryHead = "SELECT h.id, h.parent_id, h.entry_type, h.role, h.entry_key, h.content_sha256, h.open_calls, h.response_id" + treeColumns +
		" FROM agent_entry h WHERE h.agent_execution_id = ?"
	entryHeadID  = read(entryHead + " AND h.id = ?")
	entryHeadKey = read(entryHead + " AND h.entry_key = ?")
)

// putEntry inserts an entry and returns its number.
func putEntry(v view, execution uuid.UUID, e *store.Entry, at treePlace, now perdure.Time) (number int64, err error) {
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
	segment, depth := at.columns()
	_, err = v.one(insertEntry, []any{
		execution[:], e.ID[:], optID(e.ParentID), string(e.Type), optText(e.Role), optText(e.TurnID), optText(e.ResponseID),
		optText(e.MessageID), rawText(e.Metadata), millis(e.CreatedAt), optText(e.Key), calls, optText(e.Answers), open,
		segment, depth, hash[:], refID(body.ref), body.column(),
	}, &number)
	if err != nil {
		return 0, err
	}
	return number, spill(v, execution, now, body)
}

// optList encodes a list of names; NULL if it is empty.
func optList(names []string) (any, error) {
	if len(names) == 0 {
		return nil, nil
	}
	return encode(names)
}

// entryScan returns the destinations for the columns of entryFull. The id of a blob goes to blob.
func entryScan(e *perdure.Entry, blob **uuid.UUID) []any {
	return []any{
		&e.ID,
		optIDInto(&e.ParentID),
		textInto(&e.Type),
		textInto(&e.Role),
		textInto(&e.TurnID),
		textInto(&e.ResponseID),
		textInto(&e.MessageID),
		rawInto(&e.Metadata),
		timeInto(&e.CreatedAt),
		textInto(&e.Key),
		jsonInto(&e.Calls),
		textInto(&e.Answers),
		optIDInto(blob),
		rawInto(&e.Content),
	}
}

// loadEntry reads an entry with its content; nil if there is none. A blob remains a reference.
func loadEntry(v view, execution, id uuid.UUID) (*perdure.Entry, error) {
	var (
		e    perdure.Entry
		blob *uuid.UUID
	)
	found, err := v.one(entryByID, []any{execution[:], id[:]}, entryScan(&e, &blob)...)
	if err != nil || !found {
		return nil, err
	}
	e.Blob, err = loadRef(v, execution, blob)
	return &e, err
}

// loadEntryHead reads an entry's place in the tree and those fields that the transcript rules need.
func loadEntryHead(v view, query *Statement, args ...any) (h perdure.EntryHead, at treePlace, found bool, err error) {
	found, err = v.one(query, args, append([]any{
		&h.ID,
		optIDInto(&h.ParentID),
		textInto(&h.Type),
		textInto(&h.Role),
		textInto(&h.Key),
		hashInto(&h.Hash),
		jsonInto(&h.Open),
		textInto(&h.ResponseID),
	}, treeScan(&at)...)...)
	return h, at, found, err
}

var insertCheckpoint = insert("agent_checkpoint", "agent_execution_id, sequence, leaf_entry_id, metadata, created_at, state_blob, state")

func putCheckpoint(v view, execution uuid.UUID, c *perdure.Checkpoint, now perdure.Time) error {
	body := planContent(c.State, c.Blob)
	err := v.write(insertCheckpoint, execution[:], c.Sequence, optID(c.LeafEntryID), rawText(c.Metadata), millis(c.CreatedAt),
		refID(body.ref), body.column())
	if err == nil {
		err = v.write(supersede, execution[:], c.Sequence-1)
	}
	if err != nil {
		return err
	}
	return spill(v, execution, now, body)
}

const (
	checkpointColumns = "SELECT sequence, leaf_entry_id, metadata, created_at, state_blob, state FROM agent_checkpoint WHERE agent_execution_id = ?"
)

var (
	checkpointByNo   = read(checkpointColumns + " AND sequence = ?")
	checkpointNewest = read(checkpointColumns + " ORDER BY sequence DESC LIMIT 1")
	checkpointsAfter = read(checkpointColumns + " AND sequence > ? ORDER BY sequence LIMIT ?")
)

// loadCheckpoints reads checkpoints with their states. It stops early after about store.PageBytes.
func loadCheckpoints(v view, join joiner, execution uuid.UUID, query *Statement, args ...any) ([]*perdure.Checkpoint, error) {
	var (
		all   []*perdure.Checkpoint
		blobs []*uuid.UUID
		bytes int
	)
	err := v.each(query, append([]any{execution[:]}, args...), func(row func(...any) error) error {
		var (
			c    perdure.Checkpoint
			blob *uuid.UUID
		)
		if err := row(&c.Sequence, optIDInto(&c.LeafEntryID), rawInto(&c.Metadata), timeInto(&c.CreatedAt), optIDInto(&blob), rawInto(&c.State)); err != nil {
			return err
		}
		all, blobs = append(all, &c), append(blobs, blob)
		if bytes += len(c.State); bytes > store.PageBytes {
			return ErrStop
		}
		return nil
	})
	bytes = 0
	for i, c := range all {
		if err != nil {
			return nil, err
		}
		if c.Blob, err = loadRef(v, execution, blobs[i]); err == nil {
			err = join(v, execution, &c.State, &c.Blob)
		}
		if bytes += store.Weight(c.State, c.Blob); bytes > store.PageBytes && i > 0 {
			return all[:i], err
		}
	}
	return all, err
}
