package read

import (
	"bytes"
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/load/contents"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// EntriesOf reads all entries with one statement, and all contents in blobs with a second one.
//

func entriesByID(w *statement.Dialect) *statement.Statement {
	return statement.NewAlone("SELECT " + load.EntryColumns + ", b.length, b.sha256, b.held" +
		" FROM " + w.AmongIDs("agent_entry", "e") + " LEFT JOIN blob b ON b.agent_execution_id = ?1 AND b.id = e.content_blob")
}

func blobsByID(w *statement.Dialect) *statement.Statement {
	return statement.NewAlone("SELECT c.id, c.content FROM " + w.AmongIDs("blob_chunk", "c") + " ORDER BY c.id, c.n")
}

// foundEntry is an entry, with the number of bytes of its blob that are stored.
type foundEntry struct {
	perdure.Entry
	held int64
}

// whole reports whether to load the content of the entry from its blob. The blob must be complete,
// and its length in bytes must not exceed `most`.
func (e *foundEntry) whole(most int64) bool {
	return e.Blob != nil && e.held == e.Blob.Length && e.Blob.Length <= most
}

// EntriesOf implements [store.Reader].
func (r *Reader) EntriesOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID, most int64) ([]perdure.Entry, error) {
	var entries []perdure.Entry
	err := r.Read(ctx, func(v statement.View) error {
		found, err := findEntries(v, execution, ids)
		if err != nil {
			return err
		}
		var blobs []uuid.UUID
		bytes := 0
		for i, id := range ids {
			e := found[id]
			if e == nil {
				return noEntry(execution, id)
			}
			n := len(e.Content)
			if e.whole(most) {
				n = int(e.Blob.Length)
			}
			if bytes += n; bytes > store.PageBytes && i > 0 {
				ids = ids[:i]
				break
			}
			if e.whole(most) {
				blobs = append(blobs, e.Blob.ID)
			}
		}
		whole, err := findBlobs(v, execution, blobs)
		for _, id := range ids {
			if err == nil {
				err = joinFound(v, execution, found[id], whole, most)
			}
			entries = append(entries, found[id].Entry)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}

func findEntries(v statement.View, execution uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]*foundEntry, error) {
	found := map[uuid.UUID]*foundEntry{}
	list, err := v.Dialect.IDs(ids)
	if err != nil {
		return nil, err
	}
	err = v.Each(entriesByID(v.Dialect), []any{execution[:], list}, func(row func(...any) error) error {
		var (
			e   foundEntry
			ref perdure.BlobRef
		)
		err := row(append(load.EntryScan(nil, &e.Entry), column.OptNumberInto(&ref.Length), column.HashInto(&ref.SHA256), column.OptNumberInto(&e.held))...)
		if e.Blob != nil {
			ref.ID = e.Blob.ID
			e.Blob = &ref
		}
		found[e.ID] = &e
		return err
	})
	return found, err
}

// findBlobs returns the contents of complete blobs.
func findBlobs(v statement.View, execution uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]json.RawMessage, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := v.Dialect.IDs(ids)
	if err != nil {
		return nil, err
	}
	pieces := map[uuid.UUID][][]byte{}
	err = v.Each(blobsByID(v.Dialect), []any{execution[:], list}, func(row func(...any) error) error {
		var (
			id    uuid.UUID
			piece []byte
		)
		err := row(&id, &piece)
		pieces[id] = append(pieces[id], piece)
		return err
	})
	whole := map[uuid.UUID]json.RawMessage{}
	for id, all := range pieces {
		whole[id] = bytes.Join(all, nil)
	}
	return whole, err
}

// joinFound sets the content of an entry to the loaded content of its blob, as joinEntry does.
func joinFound(v statement.View, execution uuid.UUID, e *foundEntry, whole map[uuid.UUID]json.RawMessage, most int64) error {
	if !e.whole(most) || e.Content != nil {
		return nil
	}
	content, ref := whole[e.Blob.ID], e.Blob
	if content == nil { // an empty blob, or one that refers to another entry
		var err error
		if content, err = contents.Blob(v, execution, ref); err != nil {
			return err
		}
	}
	if int64(len(content)) != ref.Length {
		return contents.ErrNamed
	}
	e.Content, e.Blob = content, nil
	if ref.ID == perdure.ContentID(execution, ref.SHA256) {
		e.ExtractMetadata()
	}
	return nil
}
