package invariants

import (
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// checkTree checks that the tree has one root, and that the parent of every other entry is an
// earlier entry. The stored open calls of an entry (tool calls without a result) must follow from
// the transcript rules. The leaf of an ended execution must have no open calls.
func (i *execution) checkTree() {
	i.Helper()
	heads, roots := map[uuid.UUID]*perdure.EntryHead{}, 0
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := i.s.AllEntries(i.ctx, i.id, cursor, 200)
		if i.failed("entries", err) {
			return
		}
		stored := i.storedHeads(page.Items)
		for _, e := range page.Items {
			heads[e.ID] = i.checkEntry(e, heads, stored[e.ID])
			if e.ParentID == nil && e.OnPath() {
				roots++
			}
		}
		cursor = page.Next
	}
	if roots > 1 {
		i.broken("has %d roots", roots)
	}
	i.checkLeaf(heads)
}

func (i *execution) checkPlaces() {
	i.Helper()
	wrong, err := i.audit.AuditTree(i.ctx, i.id)
	if i.failed("places of entries", err) {
		return
	}
	for _, what := range wrong {
		i.broken("has a wrong tree: %s", what)
	}
}

// checkEntry checks an entry against its parent. It returns a head of the entry (perdure.EntryHead)
// with the open calls that follow from the transcript rules.
func (i *execution) checkEntry(e perdure.Entry, heads map[uuid.UUID]*perdure.EntryHead, stored perdure.EntryHead) *perdure.EntryHead {
	i.Helper()
	var parent *perdure.EntryHead
	if e.ParentID != nil {
		if parent = heads[*e.ParentID]; parent == nil {
			i.broken("has the entry %s, whose parent %s is not before it", e.ID, e.ParentID)
			return &stored
		}
	}
	open, err := perdure.CheckAppend(parent, e)
	if err != nil {
		i.broken("has no valid transcript: %v", err)
	}
	if !slices.Equal(open, stored.Open) {
		i.broken("stores the open calls %v at entry %s; the rules give %v", stored.Open, e.ID, open)
	}
	return &perdure.EntryHead{ID: e.ID, ParentID: e.ParentID, Type: e.Type, Role: e.Role, Open: open}
}

// storedHeads returns the stored heads (perdure.EntryHead) of the entries.
func (i *execution) storedHeads(entries []perdure.Entry) map[uuid.UUID]perdure.EntryHead {
	i.Helper()
	var (
		needs store.Needs
		heads map[uuid.UUID]perdure.EntryHead
	)
	for _, e := range entries {
		needs.Entries = append(needs.Entries, e.ID)
	}
	_, err := i.s.Do(i.ctx, store.Command{
		Name: "invariants", Lane: store.LaneSweeps, Execution: i.id,
		Needs:  func(*perdure.Execution) store.Needs { return needs },
		Decide: func(s *store.State) (*store.Changes, error) { heads = s.Entries; return nil, nil },
	})
	if err != nil {
		i.broken("does not load the heads of its entries: %v", err)
	}
	return heads
}

func (i *execution) checkLeaf(heads map[uuid.UUID]*perdure.EntryHead) {
	i.Helper()
	if i.x.Leaf == nil {
		return
	}
	leaf := heads[*i.x.Leaf]
	switch {
	case leaf == nil:
		i.broken("has the leaf %s, which is no entry", i.x.Leaf)
		return
	case leaf.Type == perdure.EntryLLMCall:
		i.broken("has an llm_call as its leaf")
	case i.x.Status.Terminal() && len(leaf.Open) > 0:
		i.broken("is %s with the calls %v unanswered", i.x.Status, leaf.Open)
	}
	var path []uuid.UUID
	for e, err := range i.s.Path(i.ctx, i.id, *i.x.Leaf, nil, 0, true) {
		if i.failed("path", err) {
			return
		}
		path = append(path, e.ID)
	}
	slices.Reverse(path)
	at := i.x.Leaf
	for _, id := range path {
		if at == nil || id != *at {
			i.broken("has %s on its path where the tree has %v", id, at)
			return
		}
		at = heads[id].ParentID
	}
	if at != nil {
		i.broken("has a path that begins below %s", at)
	}
	if n, err := i.s.PathLength(i.ctx, i.id, *i.x.Leaf); !i.failed("length of its path", err) && n != int64(len(path)) {
		i.broken("has a path of %d entries and counts %d", len(path), n)
	}
}
