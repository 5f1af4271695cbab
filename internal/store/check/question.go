package check

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// questions checks the questions of an execution: the number of open ones in its row, that none is
// open after its end, and that each decision has its time.
func (c *checker) questions(x *perdure.Execution) error {
	open := 0
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := c.r.Questions(c.ctx, x.Org, store.QuestionFilter{ExecutionID: &c.id, Cursor: cursor, Limit: 200})
		if err != nil {
			return err
		}
		for _, q := range page.Items {
			if q.Status == perdure.QuestionOpen {
				open++
			}
			if q.Status.Final() != (q.DecidedAt != nil) {
				c.wrong("its question %s is %s, and was decided at %v", q.ID, q.Status, q.DecidedAt)
			}
			if q.ID != perdure.QuestionID(x.ID, q.Key) {
				c.wrong("its question %s does not have the id of the key %q", q.ID, q.Key)
			}
		}
		cursor = page.Next
	}
	if open != x.OpenQuestions {
		c.wrong("it counts %d open questions, and has %d", x.OpenQuestions, open)
	}
	if x.Status.Terminal() && open > 0 {
		c.wrong("it is %s, and has %d open questions", x.Status, open)
	}
	return nil
}
