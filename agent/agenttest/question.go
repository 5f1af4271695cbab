package agenttest

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
)

// maxQuestions is the maximum number of questions of a run that an outcome contains.
const maxQuestions = 1000

// answerOne answers the oldest question that the execution waits for, and that the scenario answers.
// It reports whether it has answered one.
func (w *world) answerOne(ctx context.Context, x *perdure.Execution, c *course) (bool, error) {
	if w.Answers == nil || x.Status != perdure.StatusWaiting || x.OpenQuestions == 0 {
		return false, nil
	}
	found, err := w.core.Store.QuestionsOf(ctx, w.id, x.Wait.Questions())
	if err != nil {
		return false, err
	}
	for _, q := range found {
		if q == nil || q.Status.Final() || c.left[q.ID] {
			continue
		}
		answer := w.Answers(*q)
		if answer == nil {
			c.leave(q.ID)
			continue
		}
		_, err := w.core.Answer(ctx, org, engine.AnswerRequest{
			Question: q.ID, AnswerID: "answer", Verdict: answer.Verdict, Value: answer.Value, Reason: answer.Reason,
			DetailsSHA256: &q.DetailsSHA256, Role: perdure.KeyAdmin,
		})
		if perdure.IsCode(err, perdure.QuestionDecided) {
			err = nil // it has expired in this moment
		}
		return true, err
	}
	return false, nil
}

// leave notes that the scenario does not answer a question.
func (c *course) leave(id uuid.UUID) {
	if c.left == nil {
		c.left = map[uuid.UUID]bool{}
	}
	c.left[id] = true
}

// questions returns a line for each question of the execution, in the order in which they were
// asked.
func questions(ctx context.Context, s reader, org string, id uuid.UUID) ([]string, error) {
	page, err := s.Questions(ctx, org, store.QuestionFilter{ExecutionID: &id, Limit: maxQuestions})
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, q := range slices.Backward(page.Items) {
		line := fmt.Sprintf("%s: %s, %s", q.Key, q.Kind, q.Status)
		if q.Answer != nil {
			line += fmt.Sprintf(", %s %s", q.Answer.Verdict, q.Answer.Value)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines) // questions of one commit are asked at the same time
	return lines, nil
}
