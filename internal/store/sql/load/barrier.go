package load

import (
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Barrier describes which entries before a compaction stay in the model's context. It is stored in
// the row of the compaction, so that readers of the context need not read the earlier entries.
type Barrier struct {
	// Keep is the place of the first entry that stays in the context, apart from those in Pinned.
	// If the compaction keeps no such entry, it is the compaction's own place.
	Keep TreePlace `json:"-"`
	// Pinned are the entries before Keep that the model still sees, in the order of the path.
	Pinned []uuid.UUID `json:"pinned"`
	// LeftOut are the ranges of entries that the model no longer sees.
	LeftOut []perdure.LeftOut `json:"leftOut"`
}

var (
	// newestCompaction selects the newest compaction on the path from the root to the depth ?3 of
	// the segment ?2. It searches towards the root, segment by segment, and stops at the first
	// compaction.
	newestCompaction = statement.Alone(`WITH RECURSIVE up (segment, depth) AS (
	SELECT CAST(?2 AS BIGINT), (SELECT max(e.depth) FROM agent_entry e WHERE e.agent_execution_id = ?1 AND e.segment = ?2
		AND e.depth <= ?3 AND e.entry_type = 'compaction')
	UNION ALL
	SELECT s.base_segment, (SELECT max(e.depth) FROM agent_entry e WHERE e.agent_execution_id = ?1 AND e.segment = s.base_segment
		AND e.depth <= s.base_depth AND e.entry_type = 'compaction')
	FROM up JOIN agent_segment s ON s.agent_execution_id = ?1 AND s.segment = up.segment WHERE up.depth IS NULL AND s.base_depth > 0
) SELECT segment, depth FROM up WHERE depth IS NOT NULL`)
	barrierAt = statement.Read("SELECT e.keep_segment, e.keep_depth, e.barrier FROM agent_entry e" +
		" WHERE e.agent_execution_id = ? AND e.segment = ? AND e.depth = ? AND e.depth > 0")
)

// NewestBarrier returns the barrier of the newest compaction on the path from the root to a place.
// It returns nil if there is no compaction on the path, or if an earlier version of the program has
// stored the newest one without a barrier.
func NewestBarrier(v statement.View, execution uuid.UUID, top TreePlace) (*Barrier, error) {
	var at TreePlace
	found, err := v.One(newestCompaction, []any{execution[:], top.Segment, top.Depth}, &at.Segment, &at.Depth)
	if err != nil || !found {
		return nil, err
	}
	var (
		b    Barrier
		text json.RawMessage
	)
	found, err = v.One(barrierAt, []any{execution[:], at.Segment, at.Depth},
		column.OptNumberInto(&b.Keep.Segment), column.OptNumberInto(&b.Keep.Depth), column.RawInto(&text))
	if err != nil || !found || b.Keep.Depth == 0 {
		return nil, err
	}
	return &b, json.Unmarshal(text, &b)
}
