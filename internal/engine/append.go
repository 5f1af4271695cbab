package engine

import (
	"cmp"
	"crypto/sha256"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// append adds an entry to the tree. The state must hold the parent, and any entry that is stored
// under the new entry's id or key.
func (d *draft) append(e perdure.NewEntry) error {
	if known, ok := d.s.Entries[e.ID]; ok {
		return d.repeated(e, known)
	}
	e.CreatedAt = d.s.Now
	parent, err := d.parentOf(e)
	if err != nil {
		return err
	}
	e.Entry.Blob = e.Blob
	if err := perdure.CheckContent(e.Entry); err != nil {
		return err
	}
	if err := d.useContent(e.Blob, e.ID); err != nil {
		return err
	}
	open, err := perdure.CheckAppend(parent, e.Entry)
	if err != nil {
		return err
	}
	d.belong(&e.Entry)
	head := perdure.EntryHead{
		ID: e.ID, ParentID: e.ParentID, Type: e.Type, Role: e.Role, Key: e.Key, Hash: contentHash(e), Open: open, ResponseID: e.ResponseID,
	}
	d.s.Entries[e.ID] = head
	if e.Key != "" {
		d.s.Keyed[e.Key] = head
	}
	d.c.Entries = append(d.c.Entries, store.Entry{Entry: e.Entry, Open: open})
	d.join(e.Entry)
	d.x.EntryCount++
	if e.OnPath() {
		id := e.ID
		d.x.Leaf = &id
	}
	place := perdure.Place{ResponseID: e.ResponseID, TurnID: e.TurnID, MessageID: e.MessageID, ToolCallID: e.Answers}
	// The event names the entry. Readers join its content, so that no text is stored twice.
	d.event(perdure.EventEntry, place, map[string]any{"entryId": e.ID})
	return nil
}

// repeated returns nil if the entry equals the stored one with the same id. Error: already_exists,
// if they differ.
func (d *draft) repeated(e perdure.NewEntry, known perdure.EntryHead) error {
	if known.Hash == contentHash(e) && known.Role == e.Role && known.Type == e.Type {
		return nil
	}
	return perdure.Errorf(perdure.AlreadyExists, "entry %s exists with other content", e.ID)
}

func (d *draft) parentOf(e perdure.NewEntry) (*perdure.EntryHead, error) {
	if e.ParentID == nil {
		if e.OnPath() && d.x.Leaf != nil {
			return nil, perdure.FieldErrorf("entries."+e.ID.String()+".parentId", "is missing; the conversation has a root already")
		}
		return nil, nil
	}
	parent, ok := d.s.Entries[*e.ParentID]
	if !ok {
		return nil, perdure.FieldErrorf("entries."+e.ID.String()+".parentId", "there is no entry %s in this execution", *e.ParentID)
	}
	return &parent, nil
}

// useBlob takes an uploaded blob into the commit. A content of a LOCAL execution is not uploaded;
// its reference is withheld. Error: conflict, if the upload is incomplete or differs from the
// reference.
func (d *draft) useBlob(ref *perdure.BlobRef) error {
	if ref == nil {
		return nil
	}
	if d.local() {
		return d.withhold(*ref)
	}
	b, ok := d.s.Blobs[ref.ID]
	if !ok || b.Held != b.Length || b.Length != ref.Length || b.SHA256 != ref.SHA256 {
		return notWhole(ref.ID)
	}
	d.c.OwnBlobs = append(d.c.OwnBlobs, ref.ID)
	return nil
}

func notWhole(blob uuid.UUID) error {
	return perdure.Errorf(perdure.Conflict, "blob %s is not there whole; upload it again", blob)
}

func contentHash(e perdure.NewEntry) perdure.Hash {
	if e.Blob != nil {
		return e.Blob.SHA256
	}
	return sha256.Sum256(e.Content)
}

// sortedBlocks returns the blocks in the order of their seqs, so that repeated runs of a decision
// have the same result.
func sortedBlocks(blocks map[perdure.BlockKey]*store.Block) []*store.Block {
	all := make([]*store.Block, 0, len(blocks))
	for _, b := range blocks {
		all = append(all, b)
	}
	slices.SortFunc(all, func(a, b *store.Block) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}

// sortedTasks returns the tasks, oldest first, so that repeated runs of a decision have the same
// result.
func sortedTasks(tasks map[uuid.UUID]*perdure.Task) []*perdure.Task {
	all := make([]*perdure.Task, 0, len(tasks))
	for _, t := range tasks {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *perdure.Task) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return all
}
