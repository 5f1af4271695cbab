package engine

import (
	"context"

	"github.com/perdure/perdure"
)

// CheckAnswer returns nil if Answer would take the approval or denial now, or if it repeats a stored
// answer. It changes nothing. It is for answers without Value, Details and Remember. Errors: as for
// Answer.
func (e *Engine) CheckAnswer(ctx context.Context, org string, r AnswerRequest, v Voter) error {
	if err := checkAnswer(&r); err != nil {
		return err
	}
	q, err := e.Store.Question(ctx, org, r.Question)
	if err != nil {
		return err
	}
	askers := q.Askers
	if q.NotAsker && askers == nil {
		if askers, err = e.allAskers(ctx, org, q.ExecutionID); err != nil {
			return err
		}
	}
	vote := newVote(ctx, r)
	if err := e.readFor(ctx, org, q, &vote); err != nil {
		return err
	}
	if r.Verdict == perdure.VerdictApprove {
		vote.OtherDetails = e.otherDetails(ctx, q, r.DetailsSHA256)
	}
	return vote.Check(q, v, askers)
}
