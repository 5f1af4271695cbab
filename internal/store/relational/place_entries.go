package relational

import (
	"context"
	"math"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Placed is the place of a stored entry. Number identifies the entry.
type Placed struct{ Number, Segment, Depth int64 }

// placesAtOnce is the maximum number of places that one call writes.
const placesAtOnce = 5000

// PlaceEntries computes the places in the tree of an execution's entries that were stored by a
// version without places. Nobody else may write entries of the execution meanwhile. It calls write
// with some thousands of places at a time. A repeated run after an interruption computes the same
// places. It reads each entry once, without its content.
func PlaceEntries(ctx context.Context, c Conn, words *Words, execution uuid.UUID, write func(all []Placed) error) error {
	v := view{c, ctx, words}
	p := places{
		known: map[uuid.UUID]treePlace{}, empty: true, next: 1,
		load: func(uuid.UUID) (treePlace, bool, error) { return treePlace{}, false, nil },
	}
	var (
		batch    []Placed
		segments []newSegment
	)
	flush := func() error {
		for _, s := range segments {
			if err := v.write(putSegment, execution[:], s.segment, s.baseSegment, s.baseDepth); err != nil {
				return err
			}
		}
		err := write(batch)
		batch, segments = batch[:0], segments[:0]
		return err
	}
	for after := int64(math.MinInt64); ; {
		rows, err := readUnplaced(v, execution, after)
		if err != nil {
			return err
		}
		for _, row := range rows {
			at, opened, err := p.place(row.id, row.parent, row.onPath)
			if err != nil {
				return err
			}
			if opened != nil {
				segments = append(segments, *opened)
			}
			if !at.none {
				batch = append(batch, Placed{row.number, at.segment, at.depth})
			}
			after = row.number
		}
		if err := flush(); err != nil || len(rows) < placesAtOnce {
			return err
		}
	}
}

// unplaced is the data from which the place of an entry is computed.
type unplaced struct {
	number int64
	id     uuid.UUID
	parent *uuid.UUID
	onPath bool
}

const entriesInOrder = "SELECT number, id, parent_id, entry_type FROM agent_entry WHERE agent_execution_id = ? AND number > ? AND number > 0 ORDER BY number LIMIT ?"

func readUnplaced(v view, execution uuid.UUID, after int64) (all []unplaced, err error) {
	err = v.each(entriesInOrder, []any{execution[:], after, placesAtOnce}, func(row func(...any) error) error {
		var (
			e    unplaced
			kind perdure.EntryType
		)
		err := row(&e.number, &e.id, optUUID{&e.parent}, text[perdure.EntryType]{&kind})
		e.onPath = perdure.Entry{Type: kind}.OnPath()
		all = append(all, e)
		return err
	})
	return all, err
}
