package engine

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// firstEnded returns the first page of the tasks and steps that have ended since the newest
// checkpoint. A function that is entered again gets their results from this page. firstEnded
// returns nil if no worker has committed to the execution.
func firstEnded(ctx context.Context, refs store.ClaimReader, x *perdure.Execution, newest *perdure.Checkpoint) (*perdure.EndedPage, error) {
	if rules.LastCommit(x) == (perdure.CommitNumber{}) {
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

func endedPage(ctx context.Context, refs store.ClaimReader, execution uuid.UUID, after int64) (perdure.EndedPage, error) {
	return refs.Ended(ctx, execution, after, perdure.EndedPageHeads, perdure.EndedPageBytes)
}

// ended returns a further page of ended tasks and steps to the worker that has the lease. Errors:
// lease_lost (the lease has ended), not_found, invalid_argument.
func (e *Engine) ended(ctx context.Context, org string, q perdure.EndedQuery) (page perdure.EndedPage, err error) {
	if q.After < 0 {
		return page, perdure.FieldErrorf("after", "must not be negative; give the next of the page before")
	}
	err = e.refs.Together(ctx, func(refs store.ClaimReader) error {
		x, err := refs.Execution(ctx, org, q.Lease.ExecutionID)
		if err != nil {
			return err
		}
		if err := rules.CheckHeld(x, q.Lease); err != nil {
			return err
		}
		page, err = endedPage(ctx, refs, x.ID, q.After)
		return err
	})
	return page, err
}
