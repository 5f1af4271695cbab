package exampletest

import (
	"context"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// Answer waits for the questions with the given keys that an execution asks, and answers each one as soon
// as it is open. It panics if the server refuses an answer.
func (h *Deployment) Answer(id uuid.UUID, answers map[string]client.AnswerRequest) {
	answer := func(q *perdure.Question) {
		a, ok := answers[q.Key]
		if !ok || q.ExecutionID != id || q.Status.Final() {
			return
		}
		a.DetailsSHA256 = &q.DetailsSHA256
		must(h.Client.Answer(context.Background(), q.ID, a))
		delete(answers, q.Key)
	}
	for event, err := range h.Client.FollowQuestions(context.Background()) {
		check(err)
		if event.All != nil {
			for _, q := range event.All.Items {
				answer(q)
			}
		} else if event.Changed != nil {
			answer(event.Changed)
		}
		if len(answers) == 0 {
			return
		}
	}
}
