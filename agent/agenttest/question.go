package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/store"
)

// maxQuestions is the maximum number of questions in an outcome.
const maxQuestions = 1000

// answerOne answers the oldest question that the execution waits for and for which the scenario has an
// answer. It reports whether there was such a question.
func (w *world) answerOne(ctx context.Context, x *perdure.Execution, c *runProgress) (bool, error) {
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
		asked := *q
		if questions.LargeDetails(q) != nil {
			if asked.Details, err = w.core.Questions.Details(ctx, q); err != nil {
				return false, err
			}
		}
		answer := w.Answers(asked)
		if answer == nil {
			c.leave(q.ID)
			continue
		}
		role, key := voter(q)
		ctx := store.By(ctx, perdure.Actor{KeyID: &key, Name: fmt.Sprintf("voter %d", len(q.Votes)+1)})
		request := questions.AnswerRequest{
			Question: q.ID, AnswerID: fmt.Sprint("answer ", len(q.Votes)+1), Verdict: answer.Verdict, Value: answer.Value,
			Reason: answer.Reason, DetailsSHA256: &q.DetailsSHA256, Role: role,
		}
		if answer.Verdict == perdure.VerdictApprove {
			request.Details, request.Value = answer.Value, nil
			if w.Remember != nil {
				request.Remember = w.Remember(*q)
			}
		}
		_, err := w.core.Answer(ctx, org, request)
		if perdure.IsCode(err, perdure.QuestionDecided) {
			err = nil // the question has just expired
		}
		return true, err
	}
	return false, nil
}

// voter returns the role and the id of an API key that may vote on the question. Each vote comes
// from a different key. The key of a voter has neither started the run nor sent a signal.
func voter(q *perdure.Question) (perdure.KeyRole, uuid.UUID) {
	own := uuid.NewSHA1(q.ID, fmt.Append(nil, "voter ", len(q.Votes)+1))
	for _, by := range q.By {
		text, isKey := strings.CutPrefix(by, "key:")
		if !isKey {
			return perdure.KeyRole(by), own
		}
		key, err := uuid.Parse(text)
		voted := func(v perdure.Vote) bool { return v.KeyID != nil && *v.KeyID == key }
		if err == nil && !slices.ContainsFunc(q.Votes, voted) {
			return perdure.KeyAdmin, key
		}
	}
	return perdure.KeyAdmin, own
}

// leave records that the scenario leaves the question open.
func (c *runProgress) leave(id uuid.UUID) {
	if c.left == nil {
		c.left = map[uuid.UUID]bool{}
	}
	c.left[id] = true
}

// questionLines returns a line for each question of the execution, in alphabetical order.
func questionLines(ctx context.Context, s reader, org string, id uuid.UUID) ([]string, error) {
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
	slices.Sort(lines) // the order of questions that one commit asks is not defined
	return lines, nil
}
