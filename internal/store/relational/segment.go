package relational

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// A segment is a part of the tree of entries without branches. An entry whose parent is the last
// one of a segment belongs to that segment. Any other entry opens a new segment, with its parent as
// the base. So a path is a list of ranges, one per branch point.

// treePlace is the place of an entry in the tree. For an entry on the path, depth is the number of
// entries from the root to this entry. An entry beside the path has the place of its nearest
// ancestor on the path, with a negative depth.
type treePlace struct {
	segment, depth int64
	// end reports that the segment has no later entry.
	end bool
	// none reports that the entry has no place: its parent does not exist.
	none bool
}

// above returns the number of path entries above a child of this entry.
func (p treePlace) above() int64 { return max(p.depth, -p.depth) }

func (p treePlace) columns() (segment, depth any) {
	if p.none {
		return nil, nil
	}
	return p.segment, p.depth
}

// newSegment is the row of a segment that an entry opens. A baseDepth of 0 means no base.
type newSegment struct{ segment, baseSegment, baseDepth int64 }

const (
	treeColumns = ", coalesce(h.segment, 0), coalesce(h.depth, 0), h.depth IS NULL, NOT EXISTS (SELECT 1 FROM agent_entry n WHERE n.agent_execution_id = h.agent_execution_id" +
		" AND n.segment = h.segment AND n.depth = h.depth + 1 AND n.depth > 0)"
)

var (
	putSegment   = insert("agent_segment", "agent_execution_id, segment, base_segment, base_depth", ignoring)
	lastSegment  = read("SELECT coalesce(max(segment), 0) FROM agent_segment WHERE agent_execution_id = ?")
	placeOfEntry = read("SELECT h.parent_id" + treeColumns + " FROM agent_entry h WHERE h.agent_execution_id = ? AND h.id = ?")
)

// treeScan returns the destinations for treeColumns.
func treeScan(p *treePlace) []any {
	return []any{&p.segment, &p.depth, flagInto(&p.none), flagInto(&p.end)}
}

// places computes the places of new entries in the tree of one execution.
type places struct {
	// known holds places of stored entries and of new ones.
	known map[uuid.UUID]treePlace
	// load reads the place of a stored entry that is not in known. found is false if there is no
	// such entry.
	load func(id uuid.UUID) (p treePlace, found bool, err error)
	// last returns the highest number of a stored segment.
	last func() (int64, error)
	// empty reports that the execution has no entries.
	empty bool
	// next is the number of the next segment; 0 while it is unknown.
	next int64
}

// place returns the place of a new entry. opened is the segment that the entry opens, nil if none.
func (p *places) place(id uuid.UUID, parent *uuid.UUID, onPath bool) (at treePlace, opened *newSegment, err error) {
	if parent == nil {
		at, opened, err = p.root(onPath)
	} else {
		at, opened, err = p.under(*parent, onPath)
	}
	p.known[id], p.empty = at, false
	return at, opened, err
}

func (p *places) root(onPath bool) (treePlace, *newSegment, error) {
	switch {
	case !onPath:
		return treePlace{}, nil, nil
	case p.empty:
		return treePlace{depth: 1, end: true}, nil, nil
	}
	return p.open(treePlace{})
}

func (p *places) under(id uuid.UUID, onPath bool) (treePlace, *newSegment, error) {
	parent, known := p.known[id]
	if !known {
		var err error
		if parent, known, err = p.load(id); err != nil {
			return treePlace{}, nil, err
		}
	}
	switch {
	case !known || parent.none:
		return treePlace{none: true}, nil, nil // a foreign key rejects a missing parent
	case !onPath:
		return treePlace{segment: parent.segment, depth: -parent.above()}, nil, nil
	case !parent.end || parent.depth <= 0:
		return p.open(parent)
	}
	parent.end = false
	p.known[id] = parent
	return treePlace{segment: parent.segment, depth: parent.depth + 1, end: true}, nil, nil
}

// open opens a segment on base and returns its first place.
func (p *places) open(base treePlace) (treePlace, *newSegment, error) {
	if p.next == 0 {
		last, err := p.last()
		if err != nil {
			return treePlace{}, nil, err
		}
		p.next = last + 1
	}
	opened := newSegment{p.next, base.segment, base.above()}
	p.next++
	return treePlace{segment: opened.segment, depth: opened.baseDepth + 1, end: true}, &opened, nil
}

// loadPlace reads an entry's place and parent.
func loadPlace(v view, execution, id uuid.UUID) (p treePlace, parent *uuid.UUID, found bool, err error) {
	found, err = v.one(placeOfEntry, []any{execution[:], id[:]}, append([]any{optIDInto(&parent)}, treeScan(&p)...)...)
	return p, parent, found, err
}

// placeEntries returns the places of a command's entries, and writes the segments that they open.
func (t *Transaction) placeEntries(id uuid.UUID, l loadedExecution, k *known, entries []store.Entry) ([]treePlace, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	p := places{
		known: k.places,
		empty: l.row == nil || l.row.EntryCount == 0 && l.row.Leaf == nil,
		load: func(entry uuid.UUID) (treePlace, bool, error) {
			at, _, found, err := loadPlace(t.view, id, entry)
			return at, found, err
		},
		last: func() (last int64, err error) {
			_, err = t.one(lastSegment, []any{id[:]}, &last)
			return last, err
		},
	}
	all := make([]treePlace, len(entries))
	for i := range entries {
		e := &entries[i].Entry
		at, opened, err := p.place(e.ID, e.ParentID, e.OnPath())
		if err == nil && opened != nil {
			err = t.write(putSegment, id[:], opened.segment, opened.baseSegment, opened.baseDepth)
		}
		if err != nil {
			return nil, err
		}
		all[i] = at
	}
	return all, nil
}

// headWithPlace loads the head of an entry, and records the entry's place.
func (k *known) headWithPlace(v view, query *Statement, args ...any) (h perdure.EntryHead, found bool, err error) {
	var at treePlace
	if h, at, found, err = loadEntryHead(v, query, args...); found {
		k.places[h.ID] = at
	}
	return h, found, err
}
