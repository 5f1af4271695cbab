package apply

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// barriersOf returns the barriers (see [load.Barrier]) of new compactions, one element for each new
// entry. The element is nil for an entry that is no compaction, and for a compaction whose first
// kept entry is not on the path before it.
func barriersOf(v statement.View, execution uuid.UUID, k *known, entries []store.Entry, places []load.TreePlace) ([]*load.Barrier, error) {
	barriers := make([]*load.Barrier, len(entries))
	for i, e := range entries {
		if e.Covers == nil || places[i].Depth <= 0 {
			continue
		}
		p := covered{v: v, execution: execution, k: k, entries: entries, places: places}
		var err error
		if barriers[i], err = p.barrier(e, places[i]); err != nil {
			return nil, err
		}
	}
	return barriers, nil
}

// covered finds the entries that a compaction replaces. They are on the path to the compaction.
type covered struct {
	v         statement.View
	execution uuid.UUID
	k         *known
	entries   []store.Entry // the new entries of the command; places contains their places in the tree
	places    []load.TreePlace
	ranges    []load.PathRange
}

// pin is an entry that a compaction keeps in the context (a pinned entry), with its place.
type pin struct {
	id uuid.UUID
	at load.TreePlace
}

func (c *covered) barrier(e store.Entry, at load.TreePlace) (_ *load.Barrier, err error) {
	if c.ranges, err = load.Ranges(c.v, c.execution, at, 0); err != nil {
		return nil, err
	}
	b := load.Barrier{Keep: at, Pinned: []uuid.UUID{}, LeftOut: []perdure.LeftOut{}}
	if e.Covers.KeepFrom != nil {
		var there bool
		if b.Keep, there, err = c.find(*e.Covers.KeepFrom); err != nil || !there || b.Keep.Depth >= at.Depth {
			return nil, err
		}
	}
	pins, err := c.pins(e.Covers.Pinned, b.Keep.Depth)
	if err != nil {
		return nil, err
	}
	below := int64(0)
	for _, p := range append(pins, pin{at: b.Keep}) {
		if err := c.leaveOut(&b, e.ID, below+1, p.at.Depth-1); err != nil {
			return nil, err
		}
		below = p.at.Depth
	}
	for _, p := range pins {
		b.Pinned = append(b.Pinned, p.id)
	}
	return &b, nil
}

// pins returns those entries with these ids that are on the path to the compaction, at a depth less
// than `before`. They are ordered by depth.
func (c *covered) pins(ids []uuid.UUID, before int64) (pins []pin, err error) {
	for _, id := range ids {
		at, there, err := c.find(id)
		if err != nil {
			return nil, err
		}
		if there && at.Depth < before {
			pins = append(pins, pin{id, at})
		}
	}
	slices.SortFunc(pins, func(a, b pin) int { return cmp.Compare(a.at.Depth, b.at.Depth) })
	return slices.Compact(pins), nil
}

// find returns the place of an entry, and whether the entry is on the path to the compaction.
func (c *covered) find(id uuid.UUID) (at load.TreePlace, there bool, err error) {
	at, known := c.k.places[id]
	if !known {
		if at, _, known, err = load.Place(c.v, c.execution, id); err != nil || !known {
			return at, false, err
		}
	}
	at.End = false // End is not part of the place
	return at, slices.ContainsFunc(c.ranges, func(r load.PathRange) bool { return r.Contains(at) }), nil
}

// leaveOut adds the entries of the path with the depths `first` to `last`, inclusive, to b.LeftOut.
func (c *covered) leaveOut(b *load.Barrier, compaction uuid.UUID, first, last int64) error {
	if first > last {
		return nil
	}
	from, err := c.at(first)
	if err != nil {
		return err
	}
	to, err := c.at(last)
	b.LeftOut = append(b.LeftOut, perdure.LeftOut{
		First: from, Last: to, Entries: int(last - first + 1), Why: perdure.LeftOutByCompaction, EntryID: compaction,
	})
	return err
}

// at returns the id of the entry at a depth of the path to the compaction.
func (c *covered) at(depth int64) (uuid.UUID, error) {
	i := slices.IndexFunc(c.ranges, func(r load.PathRange) bool { return r.Bottom < depth && depth <= r.Top })
	p := load.TreePlace{Segment: c.ranges[i].Segment, Depth: depth}
	for i, at := range c.places {
		if at.Segment == p.Segment && at.Depth == p.Depth {
			return c.entries[i].ID, nil
		}
	}
	id, found, err := load.EntryAt(c.v, c.execution, p)
	if err == nil && !found {
		err = perdure.Errorf(perdure.Internal, "there is no entry at depth %d of segment %d in execution %s; run perdure store check", depth, p.Segment, c.execution)
	}
	return id, err
}

// putBarrier writes the barrier of a new compaction. It writes nothing if b is nil.
func putBarrier(v statement.View, execution, id uuid.UUID, b *load.Barrier) error {
	if b == nil {
		return nil
	}
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return v.Write(setBarrier, b.Keep.Segment, b.Keep.Depth, string(text), execution[:], id[:])
}
