package log

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/load/log"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var textsOfAttempt = statement.Read(log.BlockSelect + " AND b.task_id = ? AND b.attempt = ? AND b.type = 'token' AND b.event = 0 AND b.reason IS DISTINCT FROM 'superseded' ORDER BY b.seq")

// TextsOf implements [store.LogReader].
func (r *Logs) TextsOf(ctx context.Context, execution, task uuid.UUID, attempt int, most int64) ([]store.BlockContent, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (all []store.BlockContent, err error) {
		blocks, err := log.Blocks(v, textsOfAttempt, execution[:], task[:], int64(attempt))
		if err != nil {
			return nil, err
		}
		length := int64(0)
		for i, b := range blocks {
			if length += b.Length; length > most {
				return contentsOf(v, execution, blocks[:i])
			}
		}
		return contentsOf(v, execution, blocks)
	})
}
