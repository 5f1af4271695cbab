package engine

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// firstEnded returns the first page of the ended tasks and steps that an agent's function may ask
// for when it is entered again: those since the newest checkpoint. It returns nil for an execution
// that no worker has written to.
func firstEnded(ctx context.Context, refs store.Reader, x *perdure.Execution, newest *perdure.Checkpoint) (*perdure.EndedPage, error) {
	if lastCommit(x) == (perdure.CommitNumber{}) {
		return nil, nil
	}
	after := int64(0)
	if newest != nil {
		var err error
		if after, err = refs.EndedBefore(ctx, x.ID, newest.CreatedAt); err != nil {
			return nil, err
		}
	}
	page, err := endedPage(ctx, refs, x.ID, after)
	page.Whole = after == 0
	return &page, err
}

func endedPage(ctx context.Context, refs store.Reader, execution uuid.UUID, after int64) (perdure.EndedPage, error) {
	return refs.Ended(ctx, execution, after, perdure.EndedPageHeads, perdure.EndedPageBytes)
}

// ended returns a later page of ended tasks and steps to the worker that has the lease. Error:
// lease_lost, for any other worker.
func (e *Engine) ended(ctx context.Context, org string, q perdure.EndedQuery) (page perdure.EndedPage, err error) {
	if q.After < 0 {
		return page, perdure.FieldErrorf("after", "must not be negative; give the next of the page before")
	}
	err = e.refs.Together(ctx, func(refs store.Reader) error {
		x, err := refs.Execution(ctx, org, q.Lease.ExecutionID)
		if err != nil {
			return err
		}
		if !heldBy(x, q.Lease) {
			return leaseLost(x.ID)
		}
		page, err = endedPage(ctx, refs, x.ID, q.After)
		return err
	})
	return page, err
}
