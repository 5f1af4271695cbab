package engine

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// StreamedText implements [perdure.Dispatch].
func (d dispatch) StreamedText(ctx context.Context, execution, task uuid.UUID) (got perdure.StreamedText, err error) {
	ctx = store.ForOrg(ctx, d.org)
	x, err := d.e.refs.Execution(ctx, d.org, execution)
	if err != nil {
		return got, err
	}
	tasks, err := d.Tasks(ctx, execution, []uuid.UUID{task})
	if err != nil {
		return got, err
	}
	if tasks[0] == nil {
		return got, perdure.Errorf(perdure.NotFound, "execution %s has no task %s", execution, task)
	}
	blocks, err := d.e.Store.TextsOf(ctx, execution, task, tasks[0].Attempt, perdure.MaxStreamedText)
	for _, b := range blocks {
		if x.PersistenceMode == perdure.Local {
			got.Withheld = append(got.Withheld, b.SHA256)
		} else {
			got.Text += b.Content
		}
	}
	return got, err
}
