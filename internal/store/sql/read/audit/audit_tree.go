package audit

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

const (
	treeRowsOnce = 5000
)

var (
	treeRows   = statement.Read("SELECT number, id, parent_id, entry_type, coalesce(segment, 0), coalesce(depth, 0), depth IS NULL FROM agent_entry WHERE agent_execution_id = ? AND number > ? AND number > 0 ORDER BY number LIMIT ?")
	segmentsOf = statement.Read("SELECT segment, base_segment, base_depth FROM agent_segment WHERE agent_execution_id = ? ORDER BY segment")
)

// AuditTree checks the conversation tree of an execution. The stored place of each entry (see
// load.TreePlace) must follow from the place of the entry's parent. Each segment must have an
// entry. The barrier of a compaction may only name entries on the path to the compaction. AuditTree
// returns at most ten findings.
func (r *Auditor) AuditTree(ctx context.Context, execution uuid.UUID) (found []string, err error) {
	a := treeAudit{bases: map[int64]load.TreePlace{}, known: map[uuid.UUID]load.TreePlace{}, begun: map[int64]bool{}}
	err = r.Read(ctx, func(v statement.View) error {
		return v.Each(segmentsOf, []any{execution[:]}, func(row func(...any) error) error {
			var segment int64
			var base load.TreePlace
			err := row(&segment, &base.Segment, &base.Depth)
			a.bases[segment] = base
			return err
		})
	})
	for more := true; more && err == nil; {
		err = r.Read(ctx, func(v statement.View) (err error) {
			more, err = a.page(v, execution)
			return err
		})
	}
	for more := true; more && err == nil; {
		err = r.Read(ctx, func(v statement.View) (err error) {
			more, err = a.barriers(v, execution)
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

// treeAudit is the state of an audit of a conversation tree.
type treeAudit struct {
	bases map[int64]load.TreePlace     // bases of the segments that have a row
	known map[uuid.UUID]load.TreePlace // places of the entries
	begun map[int64]bool               // segments that have an entry
	after int64
	// afterBarrier is the number of the last compaction whose barrier was checked.
	afterBarrier int64
	found        []string
}

func (a *treeAudit) wrong(format string, args ...any) {
	if len(a.found) < 10 {
		a.found = append(a.found, fmt.Sprintf(format, args...))
	}
}

func (a *treeAudit) page(v statement.View, execution uuid.UUID) (more bool, err error) {
	rows := 0
	err = v.Each(treeRows, []any{execution[:], a.after, treeRowsOnce}, func(row func(...any) error) error {
		var (
			e    treeEntry
			kind perdure.EntryType
			p    load.TreePlace
		)
		err := row(&e.number, &e.id, column.OptIDInto(&e.parent), column.TextInto(&kind), &p.Segment, &p.Depth, column.FlagInto(&p.None))
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

func (a *treeAudit) entry(e treeEntry, p load.TreePlace) {
	var parent load.TreePlace
	if e.parent != nil {
		parent = a.known[*e.parent] // if the parent is missing, another check reports it
	}
	a.known[e.id] = p
	switch {
	case p.None:
		a.wrong("the entry %s has no place in the tree", e.id)
	case !e.onPath:
		if p.Depth != -parent.Above() || p.Segment != parent.Segment {
			a.wrong("the entry %s beside the path is at depth %d of segment %d, and hangs on depth %d of segment %d", e.id, p.Depth, p.Segment, parent.Depth, parent.Segment)
		}
	case p.Depth != parent.Above()+1:
		a.wrong("the entry %s is at depth %d, and the one that it hangs on at depth %d", e.id, p.Depth, parent.Depth)
	case !a.begun[p.Segment]:
		if base := a.bases[p.Segment]; base.Depth != parent.Above() || base.Depth > 0 && base.Segment != parent.Segment {
			a.wrong("the segment %d begins after depth %d of segment %d, and its first entry hangs on depth %d of segment %d", p.Segment, base.Depth, base.Segment, parent.Depth, parent.Segment)
		}
	case parent.Depth <= 0 || p.Segment != parent.Segment:
		a.wrong("the entry %s goes on in segment %d, and hangs on an entry of segment %d", e.id, p.Segment, parent.Segment)
	}
	if e.onPath && !p.None {
		a.begun[p.Segment] = true
	}
}

// treeEntry is the data from which the place of an entry is computed.
type treeEntry struct {
	number int64
	id     uuid.UUID
	parent *uuid.UUID
	onPath bool
}
