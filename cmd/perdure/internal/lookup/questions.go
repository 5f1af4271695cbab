package lookup

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// Values of Execution.WaitReason, the reason why a run waits. If a run waits for a signal or a
// question, most commands stop following the run.
const (
	WaitsForSignal   = "signal"
	WaitsForQuestion = "question"
	waitsForTimer    = "timer"
)

// OpenQuestions returns the open questions of a run, oldest first. If `mine` is set, it returns
// only the questions that the user's API key may answer.
func OpenQuestions(ctx context.Context, c *client.Client, run uuid.UUID, mine bool) ([]*perdure.Question, error) {
	p, err := c.QuestionsPage(ctx, client.QuestionFilter{
		Status: []perdure.QuestionStatus{perdure.QuestionOpen}, ExecutionID: &run, Mine: mine,
	}, client.PageOptions{Limit: perdure.MaxOpenQuestions})
	return oldestFirst(p.Items), err
}

// AllQuestions returns the questions of a run, oldest first.
func AllQuestions(ctx context.Context, c *client.Client, run uuid.UUID) ([]*perdure.Question, error) {
	all := []*perdure.Question{}
	for q, err := range c.Questions(ctx, client.QuestionFilter{ExecutionID: &run}) {
		if perdure.IsCode(err, perdure.NotFound) {
			return all, nil // a server of an earlier version, which has no questions
		}
		if err != nil {
			return nil, err
		}
		all = append(all, q)
	}
	return oldestFirst(all), nil
}

func oldestFirst(all []*perdure.Question) []*perdure.Question {
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all
}
