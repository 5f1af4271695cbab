package read

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/read/base"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

var (
	runningBulk = statement.Read("SELECT " + load.BulkRows.List("b") + " FROM bulk_action b INDEXED BY idx_bulk_action_running" +
		" WHERE b.status = 'running' AND (b.org_id, b.id) > (?1, ?2) ORDER BY b.org_id, b.id LIMIT ?3")
	bulkIDs = statement.Read("SELECT r.ids FROM bulk_action_executions r WHERE r.org_id = ?1 AND r.bulk_action_id = ?2")
)

// BulkAction implements [store.Reader].
func (r *Reader) BulkAction(ctx context.Context, org string, id uuid.UUID) (*perdure.BulkAction, error) {
	a, err := base.Get(ctx, r.Source, func(v statement.View) (*perdure.BulkAction, error) {
		return load.BulkRows.One(v, load.BulkByID, org, id[:])
	})
	if err == nil && a == nil {
		err = perdure.Errorf(perdure.NotFound, "there is no bulk action %s", id)
	}
	return a, err
}

// RunningBulk implements [store.Reader].
func (r *Reader) RunningBulk(ctx context.Context, after *perdure.BulkAction, limit int) ([]*perdure.BulkAction, error) {
	from := perdure.BulkAction{}
	if after != nil {
		from = *after
	}
	return base.Get(ctx, r.Source, func(v statement.View) ([]*perdure.BulkAction, error) {
		return load.BulkRows.All(v, runningBulk, from.Org, from.ID[:], limit)
	})
}

// BulkExecutions implements [store.Reader].
func (r *Reader) BulkExecutions(ctx context.Context, org string, id uuid.UUID) ([]uuid.UUID, error) {
	return base.Get(ctx, r.Source, func(v statement.View) (ids []uuid.UUID, err error) {
		var joined []byte
		if _, err := v.One(bulkIDs, []any{org, id[:]}, &joined); err != nil {
			return nil, err
		}
		for ; len(joined) >= len(uuid.Nil); joined = joined[len(uuid.Nil):] {
			ids = append(ids, uuid.UUID(joined[:len(uuid.Nil)]))
		}
		return ids, nil
	})
}
