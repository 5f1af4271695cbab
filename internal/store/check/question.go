package check

import (
	"crypto/sha256"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// questions checks the questions of an execution. The row of the execution must have the right
// number of open questions. After the end of the execution, no question may be open. Each decided
// question must have the time of its decision, and large details must match their hash.
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
			if err := c.largeDetails(q); err != nil {
				return err
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

// largeDetails checks that details that are stored in a blob have the hash in the question's row.
// If only the worker of a LOCAL execution has the details, largeDetails does nothing.
func (c *checker) largeDetails(q *perdure.Question) error {
	ref := q.DetailsBlob
	if ref == nil {
		return nil
	}
	row, err := c.r.BlobRow(c.ctx, c.id, ref.ID)
	if err != nil || row.Held != row.Length {
		return err
	}
	content, err := c.r.Blob(c.ctx, c.id, ref.ID)
	if err != nil {
		return err
	}
	defer content.Close()
	h := sha256.New()
	n, err := io.Copy(h, content)
	if err == nil && (n != ref.Length || perdure.Hash(h.Sum(nil)) != ref.SHA256) {
		c.wrong("the details of its question %s have %d bytes, and not the %d with the stored hash", q.ID, n, ref.Length)
	}
	return err
}
