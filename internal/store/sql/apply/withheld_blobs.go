package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	withholdBlob = statement.Alone("INSERT INTO blob (agent_execution_id, id, length, held, sha256, owned, created_at) VALUES (?, ?, ?, 0, ?, 1, ?)" +
		" ON CONFLICT (agent_execution_id, id) DO NOTHING")
	emptyBlob = statement.Update("blob", statement.Terms{}.Fixed("held", "= 0").Fixed("staged", "= 0").Fixed("digest", "= NULL"), statement.Columns("agent_execution_id, id"))
	dropRows  = statement.Remove("blob_chunk", statement.Columns("agent_execution_id, id"))
	// withheldBlobs selects withheld blobs of which the server has not received all bytes. It
	// leaves out blobs of length 0, which have no bytes to receive.
	withheldBlobs = statement.Read(contents.BlobColumns + " AND owned = 1 AND held + staged < length ORDER BY id LIMIT ?")
	stageBlob     = statement.Alone("UPDATE blob SET staged = ?3 WHERE agent_execution_id = ?1 AND id = ?2 AND held = 0 AND ?4 <= staged AND ?3 <= length")
	unveilBlobs   = statement.Alone("UPDATE blob SET held = length, staged = 0 WHERE agent_execution_id = ? AND owned = 1 AND held = 0 AND staged = length")

	signalBlobs = statement.Alone("DELETE FROM blob WHERE agent_execution_id = ?1 AND id IN" +
		" (SELECT value_blob FROM agent_signal WHERE agent_execution_id = ?1 AND state = ?2 AND value_blob IS NOT NULL)")
	signalValues = statement.Alone("UPDATE agent_signal SET signal_value = NULL, value_blob = NULL WHERE agent_execution_id = ? AND state = ?" +
		" AND (signal_value IS NOT NULL OR value_blob IS NOT NULL)")
	// dropUploads deletes those blobs of an execution that no commit refers to. It runs when the
	// values of signals are erased, because such a blob may be a copy of a value: the server makes
	// one if the value is too large for a message to a worker.
	dropUploads = statement.Remove("blob", statement.Columns("agent_execution_id").Fixed("owned", "= 0"))
)

// applyWithheld writes the changes of withheld blobs (blobs whose content only the home worker
// has): new references, deleted contents, and pieces of contents that a worker has sent.
func (t *Transaction) applyWithheld(id uuid.UUID, ch *store.Changes) error {
	for i := range ch.Withhold {
		ref := &ch.Withhold[i]
		if err := t.Write(withholdBlob, id[:], ref.ID[:], ref.Length, ref.SHA256[:], column.Millis(t.now)); err != nil {
			return err
		}
	}
	for _, blob := range ch.Erase {
		if err := t.Write(dropRows, id[:], blob[:]); err != nil {
			return err
		}
		if err := t.Write(emptyBlob, id[:], blob[:]); err != nil {
			return err
		}
		t.erased = true
	}
	for i := range ch.Stage {
		if err := t.stage(id, &ch.Stage[i]); err != nil {
			return err
		}
	}
	if !ch.Unveil {
		return nil
	}
	return t.Write(unveilBlobs, id[:])
}

// stage stores a piece of the content of a withheld blob. It ignores a piece that would leave a
// gap, and a piece of a complete blob.
func (t *Transaction) stage(id uuid.UUID, s *store.Staged) error {
	rows, err := t.Exec(stageBlob, id[:], s.ID[:], s.At+int64(len(s.Content)), s.At)
	if err != nil || rows == 0 {
		return err
	}
	return writeBlob(t.View, id, s.ID, s.At, s.Content)
}

// eraseSignals deletes the values of all signals in a state.
func (t *Transaction) eraseSignals(id uuid.UUID, state perdure.SignalState) error {
	if err := t.Write(signalBlobs, id[:], string(state)); err != nil {
		return err
	}
	rows, err := t.Exec(signalValues, id[:], string(state))
	if err != nil || rows == 0 {
		return err
	}
	t.erased = true
	return t.Write(dropUploads, id[:])
}
