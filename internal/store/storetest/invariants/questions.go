package invariants

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// checkQuestions checks that the execution's row has the right number of open questions. No
// question may be open after the end of the execution, or while the execution is being cancelled. A
// question that is no longer open must have the time of its decision.
func (i *execution) checkQuestions() {
	i.Helper()
	open := 0
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := i.s.Questions(i.ctx, i.x.Org, store.QuestionFilter{ExecutionID: &i.id, Cursor: cursor})
		if i.failed("questions", err) {
			return
		}
		for _, q := range page.Items {
			if q.Status == perdure.QuestionOpen {
				open++
			}
			if q.Status.Final() != (q.DecidedAt != nil) || q.Version < 1 {
				i.broken("has the question %s, which is %s in version %d and was decided at %v", q.ID, q.Status, q.Version, q.DecidedAt)
			}
		}
		cursor = page.Next
	}
	if open != i.x.OpenQuestions || open > 0 && (i.x.Status.Terminal() || i.x.Status == perdure.StatusCancelling) {
		i.broken("is %s with %d open questions, and counts %d", i.x.Status, open, i.x.OpenQuestions)
	}
}
