package load

import (
	"cmp"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// pathRanges selects the ranges of the path to the depth ?3 of the segment ?2, one row per branch
// point. It leaves out ranges that end at or before the depth ?4. Segment 0 has no row and no base.
var pathRanges = statement.Alone(`WITH RECURSIVE up (segment, bottom, top, base) AS (
	SELECT s.segment, s.base_depth, CAST(?3 AS BIGINT), s.base_segment
	FROM agent_segment s WHERE s.agent_execution_id = ?1 AND s.segment = ?2
	UNION ALL
	SELECT up.base, coalesce(s.base_depth, 0), up.bottom, s.base_segment FROM up
	LEFT JOIN agent_segment s ON s.agent_execution_id = ?1 AND s.segment = up.base
	WHERE up.bottom > ?4 AND up.bottom < up.top
) SELECT segment, bottom, top FROM up`)

// PathRange is the part of a path in one segment: the entries with depths greater than Bottom and
// not greater than Top.
type PathRange struct{ Segment, Bottom, Top int64 }

// Contains reports whether the entry at a place belongs to the range.
func (r PathRange) Contains(p TreePlace) bool {
	return r.Segment == p.Segment && r.Bottom < p.Depth && p.Depth <= r.Top
}

// Ranges returns the ranges of the path to a place, without the part up to the depth `down`. The
// first range contains the depth down+1 and may begin before it.
func Ranges(v statement.View, execution uuid.UUID, top TreePlace, down int64) (ranges []PathRange, err error) {
	switch {
	case top.Depth == 0:
		return nil, nil
	case top.Segment == 0:
		return []PathRange{{0, 0, top.Depth}}, nil
	}
	err = v.Each(pathRanges, []any{execution[:], top.Segment, top.Depth, down}, func(row func(...any) error) error {
		var r PathRange
		err := row(&r.Segment, &r.Bottom, &r.Top)
		ranges = append(ranges, r)
		return err
	})
	slices.SortFunc(ranges, func(a, b PathRange) int { return cmp.Compare(a.Top, b.Top) })
	if err == nil && (len(ranges) == 0 || slices.ContainsFunc(ranges, func(r PathRange) bool { return r.Bottom >= r.Top })) {
		err = perdure.Errorf(perdure.Internal, "the segments of execution %s do not fit together; run perdure store check", execution)
	}
	return ranges, err
}
