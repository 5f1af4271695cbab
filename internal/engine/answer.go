package engine

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// AnswerReply is the result of Answer: the question after the answer, and whether the answer had
// been stored before.
type AnswerReply = rules.VoteReply

// Answer answers a question on behalf of the actor in ctx. If the answer decides the question, and
// the execution waits for that decision, Answer wakes the execution. Errors: invalid_argument,
// not_found, permission_denied, question_decided, details_changed, already_voted.
func (e *Engine) Answer(ctx context.Context, org string, r questions.AnswerRequest) (AnswerReply, error) {
	q, vote, err := e.Questions.NewVote(ctx, org, r)
	if err != nil {
		return AnswerReply{}, err
	}
	h := e.reserve(ctx, org, q.ExecutionID)
	vote.Handover = h.Decision()
	d, err := e.one(ctx, store.Command{
		Name: "answer question", Lane: store.LaneCommits, Org: org, Execution: q.ExecutionID, Bytes: len(r.Value) + len(r.Details),
		Needs: func(*perdure.Execution) store.Needs { return rules.AnswerNeeds(vote) },
		Decide: func(s *store.State) (*store.Changes, error) {
			return rules.AnswerQuestion(s, e.rules(), q.ExecutionID, vote)
		},
	})
	e.settle(ctx, h, d.Woken)
	if err != nil {
		return AnswerReply{}, err
	}
	return d.Value.(AnswerReply), nil
}
