package apply

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	nameBlocks = statement.Update("log_block", statement.Columns("entry, path").Fixed("content", "= NULL"), statement.Columns("agent_execution_id, sha256").Fixed("content", "IS NOT NULL"))
	noteText   = statement.Insert("agent_entry_text", "agent_execution_id, hash, entry", statement.Ignoring)
	entryOf    = statement.Read("SELECT entry FROM agent_entry_text WHERE agent_execution_id = ? AND hash = ?")
)

// standFor finds stored texts that a new entry repeats: contents of closed blocks, and the result
// of the task from which the entry was made. It replaces each of these texts by a reference to the
// new entry. It also records the texts of the entry, so that blocks that close later can refer to
// them.
func standFor(v statement.View, execution uuid.UUID, number int64, e *store.Entry) error {
	content := e.Content
	if e.Blob != nil {
		var err error
		if content, err = searchable(v, execution, e.Blob); err != nil {
			return err
		}
	}
	if len(content) == 0 || len(content) > store.MostSearched {
		return nil
	}
	if err := nameResult(v, execution, number, e, content); err != nil {
		return err
	}
	for _, t := range store.EntryTexts(content) {
		sum := sha256.Sum256([]byte(t.Text))
		if err := v.Write(nameBlocks, number, t.Path, execution[:], sum[:]); err != nil {
			return err
		}
		if err := v.Write(noteText, execution[:], shortHash(sum), number); err != nil {
			return err
		}
	}
	return nil
}

// searchable loads the content of a blob. It returns nil if the content is withheld, or too large to
// search for texts.
func searchable(v statement.View, execution uuid.UUID, ref *perdure.BlobRef) (json.RawMessage, error) {
	if ref.Length > store.MostSearched {
		return nil, nil
	}
	return contents.Whole(v, execution, ref)
}

func shortHash(sum perdure.Hash) int64 { return int64(binary.BigEndian.Uint64(sum[:8])) }

// findText returns the place of a text with that SHA-256 and length in an entry of the execution.
// If there is no such text, the field Entry of the place is 0.
func findText(v statement.View, execution uuid.UUID, sum perdure.Hash, length int64) (contents.TextPlace, error) {
	var number int64
	found, err := v.One(entryOf, []any{execution[:], shortHash(sum)}, &number)
	if err != nil || !found {
		return contents.TextPlace{}, err
	}
	var texts contents.EntryTexts
	all, err := texts.Of(v, execution, number)
	if err != nil {
		return contents.TextPlace{}, err
	}
	for _, t := range all {
		if int64(len(t.Text)) == length && sha256.Sum256([]byte(t.Text)) == sum {
			return contents.TextPlace{Entry: number, Path: t.Path}, nil
		}
	}
	return contents.TextPlace{}, nil
}
