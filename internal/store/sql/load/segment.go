package load

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// A segment is a part of the conversation tree without branches. An entry whose parent is the last
// entry of a segment belongs to that segment. Any other entry begins a new segment, whose base is
// the entry's parent. So a path consists of ranges of segments, one per branch point.
//

// TreePlace is the place of an entry in the conversation tree. For an entry on a path, Depth is the
// number of entries from the root to this entry, both included. An LLM call entry, which is never
// on a path ("beside the path"), has the place of its nearest ancestor on the path, but with a
// negative Depth.
type TreePlace struct {
	Segment, Depth int64
	// End reports that the entry is the last one of its segment.
	End bool
	// None reports that the entry has no place, because its parent does not exist.
	None bool
}

// Above returns the number of entries on the path from the root to this entry, both included. An
// entry that is never on a path (see TreePlace) has the same number as its nearest ancestor that is
// on a path.
func (p TreePlace) Above() int64 { return max(p.Depth, -p.Depth) }

// Columns returns the values for the columns segment and depth.
func (p TreePlace) Columns() (segment, depth any) {
	if p.None {
		return nil, nil
	}
	return p.Segment, p.Depth
}

const (
	// TreeColumns is the list of the columns that describe the place of an entry h.
	TreeColumns = ", coalesce(h.segment, 0), coalesce(h.depth, 0), h.depth IS NULL, NOT EXISTS (SELECT 1 FROM agent_entry n WHERE n.agent_execution_id = h.agent_execution_id" +
		" AND n.segment = h.segment AND n.depth = h.depth + 1 AND n.depth > 0)"
)

var placeOfEntry = statement.Read("SELECT h.parent_id" + TreeColumns + " FROM agent_entry h WHERE h.agent_execution_id = ? AND h.id = ?")

var entryAt = statement.Read("SELECT e.id FROM agent_entry e WHERE e.agent_execution_id = ? AND e.segment = ? AND e.depth = ? AND e.depth > 0")

// EntryAt returns the id of the entry at a place on a path. The result `found` is false if there is
// no such entry.
func EntryAt(v statement.View, execution uuid.UUID, p TreePlace) (id uuid.UUID, found bool, err error) {
	found, err = v.One(entryAt, []any{execution[:], p.Segment, p.Depth}, &id)
	return id, found, err
}

// TreeScan returns the destinations for TreeColumns.
func TreeScan(p *TreePlace) []any {
	return []any{&p.Segment, &p.Depth, column.FlagInto(&p.None), column.FlagInto(&p.End)}
}

// Place reads the place and the parent of an entry.
func Place(v statement.View, execution, id uuid.UUID) (p TreePlace, parent *uuid.UUID, found bool, err error) {
	found, err = v.One(placeOfEntry, []any{execution[:], id[:]}, append([]any{column.OptIDInto(&parent)}, TreeScan(&p)...)...)
	return p, parent, found, err
}
