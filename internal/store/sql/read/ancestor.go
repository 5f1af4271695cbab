package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// PathLength implements [store.Reader].
func (r *Reader) PathLength(ctx context.Context, execution, leaf uuid.UUID) (n int64, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		top, beside, err := findPlace(v, execution, leaf)
		n = top.Depth + int64(len(beside))
		return err
	})
	return n, err
}

// CommonAncestor implements [store.Reader].
func (r *Reader) CommonAncestor(ctx context.Context, execution, a, b uuid.UUID) (common *uuid.UUID, err error) {
	err = r.Read(ctx, func(v statement.View) error {
		common = nil
		left, err := findRoute(v, execution, a, nil, 0)
		if err != nil {
			return err
		}
		right, err := findRoute(v, execution, b, nil, 0)
		if err != nil {
			return err
		}
		for i := min(len(left.beside), len(right.beside)) - 1; i >= 0; i-- {
			if left.beside[i] == right.beside[i] {
				common = &left.beside[i]
				return nil
			}
		}
		place, found := meet(left.ranges, right.ranges)
		if !found {
			return nil
		}
		id, found, err := load.EntryAt(v, execution, place)
		if err == nil && !found {
			err = hole(execution, place.Segment, place.Depth)
		}
		common = &id
		return err
	})
	return common, err
}

// meet returns the last place that two paths have in common.
func meet(a, b []load.PathRange) (p load.TreePlace, found bool) {
	for i := range min(len(a), len(b)) {
		if a[i].Segment != b[i].Segment {
			break
		}
		p, found = load.TreePlace{Segment: a[i].Segment, Depth: min(a[i].Top, b[i].Top)}, true
		if a[i].Top != b[i].Top {
			break
		}
	}
	return p, found
}
