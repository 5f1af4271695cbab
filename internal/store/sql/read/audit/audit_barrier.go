package audit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// barrierRowsOnce is the number of compactions that one read checks.
const barrierRowsOnce = 100

var barrierRows = statement.Read("SELECT e.number, e.id, coalesce(e.segment, 0), coalesce(e.depth, 0), e.keep_segment, e.keep_depth, e.barrier, e.metadata FROM agent_entry e" +
	" WHERE e.agent_execution_id = ? AND e.number > ? AND e.number > 0 AND e.entry_type = 'compaction' ORDER BY e.number LIMIT ?")

// storedBarrier is the row of a compaction with its barrier: see [load.Barrier].
type storedBarrier struct {
	number   int64
	id       uuid.UUID
	at       load.TreePlace
	keep     load.TreePlace // its depth is 0 if the row has no barrier
	text     json.RawMessage
	metadata json.RawMessage // the entry's metadata; empty if only the worker has it
}

// barriers checks the barriers of the next compactions, and reports whether further compactions
// follow. a.known must already contain the places of all entries.
func (a *treeAudit) barriers(v statement.View, execution uuid.UUID) (more bool, err error) {
	var page []storedBarrier
	err = v.Each(barrierRows, []any{execution[:], a.afterBarrier, barrierRowsOnce}, func(row func(...any) error) error {
		var b storedBarrier
		err := row(&b.number, &b.id, &b.at.Segment, &b.at.Depth, column.OptNumberInto(&b.keep.Segment), column.OptNumberInto(&b.keep.Depth),
			column.RawInto(&b.text), column.RawInto(&b.metadata))
		b.text, b.metadata = bytes.Clone(b.text), bytes.Clone(b.metadata)
		page = append(page, b)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, b := range page {
		a.afterBarrier = b.number
		if err := a.barrier(v, execution, b); err != nil {
			return false, err
		}
	}
	return len(page) == barrierRowsOnce, nil
}

// barrier checks the barrier of a compaction. A compaction that an earlier version has stored has
// no barrier.
func (a *treeAudit) barrier(v statement.View, execution uuid.UUID, b storedBarrier) error {
	if b.keep.Depth == 0 && len(b.text) == 0 {
		return nil
	}
	ranges, err := load.Ranges(v, execution, b.at, 0)
	if err != nil {
		return err
	}
	kept, found, err := load.EntryAt(v, execution, b.keep)
	if err != nil {
		return err
	}
	c := barrierCheck{b: b, ranges: ranges, known: a.known, kept: kept, found: found}
	if err := c.check(); err != nil {
		a.wrong("the barrier of the compaction %s is damaged: %v", b.id, err)
	}
	return nil
}

// barrierCheck checks one barrier against the conversation tree.
type barrierCheck struct {
	b      storedBarrier
	ranges []load.PathRange // ranges of the path to the compaction
	known  map[uuid.UUID]load.TreePlace
	kept   uuid.UUID // id of the entry at b.keep
	found  bool
}

func (c barrierCheck) check() error {
	var barrier load.Barrier
	if err := json.Unmarshal(c.b.text, &barrier); err != nil {
		return fmt.Errorf("it does not decode: %w", err)
	}
	if !c.found || !c.onPath(c.b.keep) {
		return fmt.Errorf("it keeps from depth %d of segment %d, which is not on its path", c.b.keep.Depth, c.b.keep.Segment)
	}
	if err := c.tiles(barrier); err != nil {
		return err
	}
	return c.asRecorded(barrier)
}

func (c barrierCheck) onPath(p load.TreePlace) bool {
	p.End = false
	return slices.ContainsFunc(c.ranges, func(r load.PathRange) bool { return r.Contains(p) })
}

// tiles checks that each entry of the path before c.kept is either pinned or in a range of
// barrier.LeftOut.
func (c barrierCheck) tiles(barrier load.Barrier) error {
	left := barrier.LeftOut
	depth := int64(1)
	for _, id := range append(slices.Clone(barrier.Pinned), c.kept) {
		place, known := c.known[id]
		if !known || !c.onPath(place) {
			return fmt.Errorf("the pinned entry %s is not on its path", id)
		}
		if depth < place.Depth {
			if len(left) == 0 {
				return fmt.Errorf("the entries from depth %d on are neither pinned nor left out", depth)
			}
			if err := c.leftOut(left[0], depth, place.Depth-1); err != nil {
				return err
			}
			left, depth = left[1:], place.Depth
		}
		if depth != place.Depth {
			return fmt.Errorf("the pinned entry %s is out of order", id)
		}
		depth++
	}
	if len(left) > 0 {
		return errors.New("it leaves out more than it covers")
	}
	return nil
}

// leftOut checks that one range of LeftOut contains exactly the entries of the path with the depths
// `first` to `last`, inclusive.
func (c barrierCheck) leftOut(l perdure.LeftOut, first, last int64) error {
	if l.Entries != int(last-first+1) || l.Why != perdure.LeftOutByCompaction || l.EntryID != c.b.id {
		return fmt.Errorf("it leaves out %d entries by %s of %s; there are %d", l.Entries, l.Why, l.EntryID, last-first+1)
	}
	if !c.isAt(l.First, first) || !c.isAt(l.Last, last) {
		return fmt.Errorf("it leaves out %s to %s, which are not the entries at the depths %d and %d of its path", l.First, l.Last, first, last)
	}
	return nil
}

// isAt reports whether an entry is on the path to the compaction, at that depth.
func (c barrierCheck) isAt(id uuid.UUID, depth int64) bool {
	place, known := c.known[id]
	return known && place.Depth == depth && c.onPath(place)
}

// asRecorded checks that the barrier agrees with the compaction's record in the entry's metadata.
// It does nothing if only the home worker has that record.
func (c barrierCheck) asRecorded(barrier load.Barrier) error {
	if len(c.b.metadata) == 0 {
		return nil
	}
	record, err := perdure.Entry{ID: c.b.id, Metadata: c.b.metadata}.Compaction()
	if err != nil {
		return err
	}
	if keep := c.b.id; c.kept != keep && (record.KeepFrom == nil || *record.KeepFrom != c.kept) || c.kept == keep && record.KeepFrom != nil {
		return fmt.Errorf("it keeps from %s, and the record of the compaction from %v", c.kept, record.KeepFrom)
	}
	if pinned := c.pinned(record.Pinned); !slices.Equal(pinned, barrier.Pinned) {
		return fmt.Errorf("it pins %v, and the record of the compaction %v", barrier.Pinned, pinned)
	}
	return nil
}

// pinned returns those of the ids that are on the path before the first kept entry, in the order of
// the path.
func (c barrierCheck) pinned(ids []uuid.UUID) []uuid.UUID {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool {
		place, known := c.known[id]
		return !known || !c.onPath(place) || place.Depth >= c.b.keep.Depth
	})
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return cmp.Compare(c.known[a].Depth, c.known[b].Depth) })
	return slices.Compact(ids)
}
