package engine

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// StreamedText implements [perdure.Dispatch].
func (d dispatch) StreamedText(ctx context.Context, execution, task uuid.UUID) (string, error) {
	ctx = store.ForOrg(ctx, d.org)
	if err := d.own(ctx, execution); err != nil {
		return "", err
	}
	tasks, err := d.Tasks(ctx, execution, []uuid.UUID{task})
	if err != nil {
		return "", err
	}
	if tasks[0] == nil {
		return "", perdure.Errorf(perdure.NotFound, "execution %s has no task %s", execution, task)
	}
	blocks, err := d.e.Store.TextsOf(ctx, execution, task, tasks[0].Attempt, perdure.MaxStreamedText)
	var text strings.Builder
	for _, b := range blocks {
		text.WriteString(b.Content)
	}
	return text.String(), err
}
