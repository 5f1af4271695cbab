package apply

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// newSegment is the row of a new segment of the conversation tree: see [load.TreePlace]. Its base
// is the place at which the segment branches off. If baseDepth is 0, the segment has no base.
type newSegment struct{ segment, baseSegment, baseDepth int64 }

var (
	putSegment  = statement.Insert("agent_segment", "agent_execution_id, segment, base_segment, base_depth", statement.Ignoring)
	lastSegment = statement.Read("SELECT coalesce(max(segment), 0) FROM agent_segment WHERE agent_execution_id = ?")
)

// places computes the places (segment and depth) of new entries in the conversation tree.
type places struct {
	// known contains the places of loaded entries and of new ones.
	known map[uuid.UUID]load.TreePlace
	// load reads the place of a stored entry that is not in the map `known`. The result `found` is
	// false if there is no such entry.
	load func(id uuid.UUID) (p load.TreePlace, found bool, err error)
	// last returns the highest number of a stored segment of the execution.
	last func() (int64, error)
	// empty reports that the execution has no entries.
	empty bool
	// next is the number of the next segment; 0 while it is unknown.
	next int64
}

// place returns the place of a new entry. If the entry is the first of a new segment, it also
// returns that segment.
func (p *places) place(id uuid.UUID, parent *uuid.UUID, onPath bool) (at load.TreePlace, opened *newSegment, err error) {
	if parent == nil {
		at, opened, err = p.root(onPath)
	} else {
		at, opened, err = p.under(*parent, onPath)
	}
	p.known[id], p.empty = at, false
	return at, opened, err
}

func (p *places) root(onPath bool) (load.TreePlace, *newSegment, error) {
	switch {
	case !onPath:
		return load.TreePlace{}, nil, nil
	case p.empty:
		return load.TreePlace{Depth: 1, End: true}, nil, nil
	}
	return p.open(load.TreePlace{})
}

func (p *places) under(id uuid.UUID, onPath bool) (load.TreePlace, *newSegment, error) {
	parent, known := p.known[id]
	if !known {
		var err error
		if parent, known, err = p.load(id); err != nil {
			return load.TreePlace{}, nil, err
		}
	}
	switch {
	case !known || parent.None:
		// The parent does not exist; a foreign key will reject the entry.
		return load.TreePlace{None: true}, nil, nil
	case !onPath:
		return load.TreePlace{Segment: parent.Segment, Depth: -parent.Above()}, nil, nil
	case !parent.End || parent.Depth <= 0:
		return p.open(parent)
	}
	parent.End = false
	p.known[id] = parent
	return load.TreePlace{Segment: parent.Segment, Depth: parent.Depth + 1, End: true}, nil, nil
}

// open opens a new segment that branches off at the place `base`. It returns the first place in the
// new segment.
func (p *places) open(base load.TreePlace) (load.TreePlace, *newSegment, error) {
	if p.next == 0 {
		last, err := p.last()
		if err != nil {
			return load.TreePlace{}, nil, err
		}
		p.next = last + 1
	}
	opened := newSegment{p.next, base.Segment, base.Above()}
	p.next++
	return load.TreePlace{Segment: opened.segment, Depth: opened.baseDepth + 1, End: true}, &opened, nil
}

// placeEntries returns the places of a command's new entries in the conversation tree. It also
// writes the rows of the segments that these entries open.
func (t *Transaction) placeEntries(id uuid.UUID, l load.ExecutionRow, k *known, entries []store.Entry) ([]load.TreePlace, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	p := places{
		known: k.places,
		empty: l.Row == nil || l.Row.EntryCount == 0 && l.Row.Leaf == nil,
		load: func(entry uuid.UUID) (load.TreePlace, bool, error) {
			at, _, found, err := load.Place(t.View, id, entry)
			return at, found, err
		},
		last: func() (last int64, err error) {
			_, err = t.One(lastSegment, []any{id[:]}, &last)
			return last, err
		},
	}
	all := make([]load.TreePlace, len(entries))
	for i := range entries {
		e := &entries[i].Entry
		at, opened, err := p.place(e.ID, e.ParentID, e.OnPath())
		if err == nil && opened != nil {
			err = t.Write(putSegment, id[:], opened.segment, opened.baseSegment, opened.baseDepth)
		}
		if err != nil {
			return nil, err
		}
		all[i] = at
	}
	return all, nil
}

// headWithPlace reads the head of an entry (perdure.EntryHead) with a query that also selects the
// entry's place. It stores that place in k.
func (k *known) headWithPlace(v statement.View, query *statement.Statement, args ...any) (h perdure.EntryHead, found bool, err error) {
	var at load.TreePlace
	if h, at, found, err = loadEntryHead(v, query, args...); found {
		k.places[h.ID] = at
	}
	return h, found, err
}
