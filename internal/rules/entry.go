package rules

import (
	"crypto/sha256"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// appendAll appends entries to the conversation. If a new entry has the key of a stored entry, the
// new entry is not stored. Later entries whose parent is the new entry get the stored entry as
// their parent.
func (d *draft) appendAll(entries []perdure.NewEntry, a *CommitAnswer) error {
	for _, e := range entries {
		if e.ParentID != nil {
			if stored, ok := a.Adopted[*e.ParentID]; ok {
				e.ParentID = &stored
			}
		}
		if known, ok := d.s.Keyed[e.Key]; ok && e.Key != "" {
			if known.ID == e.ID {
				if err := d.repeated(e, known); err != nil {
					return err
				}
				continue
			}
			a.Adopted[e.ID] = known.ID
			d.s.Entries[known.ID] = known // the next entry may have it as its parent
			continue
		}
		if err := d.append(e); err != nil {
			return err
		}
	}
	return nil
}

// append adds an entry to the tree of the conversation. The state must contain the parent, and any
// stored entry that has the id or the key of the new one.
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
	covers, err := d.checkCompaction(e, parent)
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
	d.c.Entries = append(d.c.Entries, store.Entry{Entry: e.Entry, Open: open, Covers: covers})
	d.join(e.Entry)
	d.x.EntryCount++
	if e.Type == perdure.EntryCompaction {
		d.x.NeedsFeatures |= perdure.FeatureContext
	}
	if e.OnPath() {
		id := e.ID
		d.x.Leaf = &id
	}
	place := perdure.Place{ResponseID: e.ResponseID, TurnID: e.TurnID, MessageID: e.MessageID, ToolCallID: e.Answers}
	// The event contains only the entry's id. Readers of the log read the content from the entry.
	d.event(perdure.EventEntry, place, map[string]any{"entryId": e.ID})
	return nil
}

// repeated checks a new entry whose id is that of the stored entry `known`. Error: already_exists,
// if the two differ.
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

func contentHash(e perdure.NewEntry) perdure.Hash {
	if e.Blob != nil {
		return e.Blob.SHA256
	}
	return sha256.Sum256(e.Content)
}
