package relational

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const (
	treeRowsOnce = 5000
)

var (
	treeRows   = read("SELECT number, id, parent_id, entry_type, coalesce(segment, 0), coalesce(depth, 0), depth IS NULL FROM agent_entry WHERE agent_execution_id = ? AND number > ? AND number > 0 ORDER BY number LIMIT ?")
	segmentsOf = read("SELECT segment, base_segment, base_depth FROM agent_segment WHERE agent_execution_id = ? ORDER BY segment")
)

// AuditTree checks for each entry of an execution that its stored place in the tree (see treePlace)
// follows from its parent, and that each segment has an entry. It returns at most ten findings.
func (r *Reader) AuditTree(ctx context.Context, execution uuid.UUID) (found []string, err error) {
	a := treeAudit{bases: map[int64]treePlace{}, known: map[uuid.UUID]treePlace{}, begun: map[int64]bool{}}
	err = r.read(ctx, func(v view) error {
		return v.each(segmentsOf, []any{execution[:]}, func(row func(...any) error) error {
			var segment int64
			var base treePlace
			err := row(&segment, &base.segment, &base.depth)
			a.bases[segment] = base
			return err
		})
	})
	for more := true; more && err == nil; {
		err = r.read(ctx, func(v view) (err error) {
			more, err = a.page(v, execution)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	for segment := range a.bases {
		if !a.begun[segment] {
			a.wrong("the segment %d has no entries", segment)
		}
	}
	return a.found, nil
}

// treeAudit is the state of an audit of a tree.
type treeAudit struct {
	bases map[int64]treePlace     // of the segments with a row
	known map[uuid.UUID]treePlace // of the entries
	begun map[int64]bool          // segments with an entry
	after int64
	found []string
}

func (a *treeAudit) wrong(format string, args ...any) {
	if len(a.found) < 10 {
		a.found = append(a.found, fmt.Sprintf(format, args...))
	}
}

func (a *treeAudit) page(v view, execution uuid.UUID) (more bool, err error) {
	rows := 0
	err = v.each(treeRows, []any{execution[:], a.after, treeRowsOnce}, func(row func(...any) error) error {
		var (
			e    treeEntry
			kind perdure.EntryType
			p    treePlace
		)
		err := row(&e.number, &e.id, optIDInto(&e.parent), textInto(&kind), &p.segment, &p.depth, flagInto(&p.none))
		if err != nil {
			return err
		}
		e.onPath = perdure.Entry{Type: kind}.OnPath()
		a.entry(e, p)
		rows, a.after = rows+1, e.number
		return nil
	})
	return rows == treeRowsOnce, err
}

func (a *treeAudit) entry(e treeEntry, p treePlace) {
	var parent treePlace
	if e.parent != nil {
		parent = a.known[*e.parent] // another check finds missing parents
	}
	a.known[e.id] = p
	switch {
	case p.none:
		a.wrong("the entry %s has no place in the tree", e.id)
	case !e.onPath:
		if p.depth != -parent.above() || p.segment != parent.segment {
			a.wrong("the entry %s beside the path is at depth %d of segment %d, and hangs on depth %d of segment %d", e.id, p.depth, p.segment, parent.depth, parent.segment)
		}
	case p.depth != parent.above()+1:
		a.wrong("the entry %s is at depth %d, and the one that it hangs on at depth %d", e.id, p.depth, parent.depth)
	case !a.begun[p.segment]:
		if base := a.bases[p.segment]; base.depth != parent.above() || base.depth > 0 && base.segment != parent.segment {
			a.wrong("the segment %d begins after depth %d of segment %d, and its first entry hangs on depth %d of segment %d", p.segment, base.depth, base.segment, parent.depth, parent.segment)
		}
	case parent.depth <= 0 || p.segment != parent.segment:
		a.wrong("the entry %s goes on in segment %d, and hangs on an entry of segment %d", e.id, p.segment, parent.segment)
	}
	if e.onPath && !p.none {
		a.begun[p.segment] = true
	}
}

// treeEntry is the data from which the place of an entry is computed.
type treeEntry struct {
	number int64
	id     uuid.UUID
	parent *uuid.UUID
	onPath bool
}
