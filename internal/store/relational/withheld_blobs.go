package relational

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var (
	withholdBlob = alone("INSERT INTO blob (agent_execution_id, id, length, held, sha256, owned, created_at) VALUES (?, ?, ?, 0, ?, 1, ?)" +
		" ON CONFLICT (agent_execution_id, id) DO NOTHING")
	emptyBlob = update("blob", Terms{}.fixed("held", "= 0").fixed("staged", "= 0").fixed("digest", "= NULL"), columns("agent_execution_id, id"))
	dropRows  = remove("blob_chunk", columns("agent_execution_id, id"))
	// An empty content is complete without bytes.
	withheldBlobs = read(blobColumns + " AND owned = 1 AND held + staged < length ORDER BY id LIMIT ?")
	stageBlob     = alone("UPDATE blob SET staged = ?3 WHERE agent_execution_id = ?1 AND id = ?2 AND held = 0 AND ?4 <= staged AND ?3 <= length")
	unveilBlobs   = alone("UPDATE blob SET held = length, staged = 0 WHERE agent_execution_id = ? AND owned = 1 AND held = 0 AND staged = length")

	signalBlobs = alone("DELETE FROM blob WHERE agent_execution_id = ?1 AND id IN" +
		" (SELECT value_blob FROM agent_signal WHERE agent_execution_id = ?1 AND state = ?2 AND value_blob IS NOT NULL)")
	signalValues = alone("UPDATE agent_signal SET signal_value = NULL, value_blob = NULL WHERE agent_execution_id = ? AND state = ?" +
		" AND (signal_value IS NOT NULL OR value_blob IS NOT NULL)")
	// Answers that had no room for a value stored it in a separate blob.
	dropUploads = remove("blob", columns("agent_execution_id").fixed("owned", "= 0"))
)

// applyWithheld stores references without contents, and stores or deletes the contents of withheld
// blobs.
func (t *Transaction) applyWithheld(id uuid.UUID, ch *store.Changes) error {
	for i := range ch.Withhold {
		ref := &ch.Withhold[i]
		if err := t.write(withholdBlob, id[:], ref.ID[:], ref.Length, ref.SHA256[:], millis(t.now)); err != nil {
			return err
		}
	}
	for _, blob := range ch.Erase {
		if err := t.write(dropRows, id[:], blob[:]); err != nil {
			return err
		}
		if err := t.write(emptyBlob, id[:], blob[:]); err != nil {
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
	return t.write(unveilBlobs, id[:])
}

// stage stores a piece of a withheld blob, a blob whose content is not stored here yet. It ignores
// a piece that would leave a gap, and a piece of a complete blob.
func (t *Transaction) stage(id uuid.UUID, s *store.Staged) error {
	rows, err := t.exec(stageBlob, id[:], s.ID[:], s.At+int64(len(s.Content)), s.At)
	if err != nil || rows == 0 {
		return err
	}
	return writeBlob(t.view, id, s.ID, s.At, s.Content)
}

// eraseSignals deletes the values of all signals in that state.
func (t *Transaction) eraseSignals(id uuid.UUID, state perdure.SignalState) error {
	if err := t.write(signalBlobs, id[:], string(state)); err != nil {
		return err
	}
	rows, err := t.exec(signalValues, id[:], string(state))
	if err != nil || rows == 0 {
		return err
	}
	t.erased = true
	return t.write(dropUploads, id[:])
}
