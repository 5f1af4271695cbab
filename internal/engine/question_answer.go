package engine

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// AnswerRequest is an answer to a question. A repeat with the same AnswerID by the same voter
// changes nothing.
type AnswerRequest struct {
	Question uuid.UUID
	// AnswerID identifies the answer; "" creates an id.
	AnswerID string
	Verdict  perdure.Verdict
	// Value is set for VerdictAnswer.
	Value  json.RawMessage
	Reason string
	// Details, if set, replace what is approved. VerdictApprove needs them to be valid.
	Details json.RawMessage
	// Remember, if set, asks for a grant.
	Remember *perdure.Remember
	// DetailsSHA256 is Question.DetailsSHA256 as the voter has read it. VerdictApprove needs it.
	DetailsSHA256 *perdure.Hash
	// Role is the role of the voter.
	Role perdure.KeyRole
	// Link is set if the key votes with a link: see LinkToken.
	Link *perdure.Hash
}

// AnswerReply is the question after the answer.
type AnswerReply = rules.VoteReply

// Answer answers a question on behalf of the actor of the context, and wakes the execution if the
// answer decides the question and that meets its wait. Errors: invalid_argument, not_found,
// permission_denied, question_decided, details_changed, already_voted.
func (e *Engine) Answer(ctx context.Context, org string, r AnswerRequest) (AnswerReply, error) {
	if err := checkAnswer(&r); err != nil {
		return AnswerReply{}, err
	}
	q, err := e.Store.Question(ctx, org, r.Question)
	if err != nil {
		return AnswerReply{}, err
	}
	vote := newVote(ctx, r)
	if err := e.readFor(ctx, org, q, &vote); err != nil {
		return AnswerReply{}, err
	}
	if r.Verdict == perdure.VerdictAnswer && q.TakesValue() && r.Value != nil && q.Withheld == nil {
		vote.Misfit = e.misfitAnswer("answer", q.QuestionTerms, r.Value)
	}
	if vote.Edit, err = e.editOf(ctx, org, q, r, vote.Unread == nil && vote.Reads(q)); err != nil {
		return AnswerReply{}, err
	}
	if r.Verdict == perdure.VerdictApprove {
		vote.OtherDetails = e.otherDetails(ctx, q, r.DetailsSHA256)
	}
	h := e.reserve(ctx, org, q.ExecutionID)
	vote.Handover = h.decision()
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

func newVote(ctx context.Context, r AnswerRequest) rules.NewVote {
	actor := store.ActorOf(ctx)
	return rules.NewVote{
		Vote: perdure.Vote{
			AnswerID: r.AnswerID, KeyID: actor.KeyID, Name: actor.Name, Verdict: r.Verdict, Value: r.Value, Reason: r.Reason,
			Remember: r.Remember,
		},
		GrantID:  uuid.Must(uuid.NewV7()),
		Question: r.Question, Role: r.Role, DetailsSHA256: r.DetailsSHA256, Actor: actor,
		Link: r.Link,
	}
}

// checkAnswer checks the parts of an answer that need no stored state.
func checkAnswer(r *AnswerRequest) error {
	if r.AnswerID == "" {
		r.AnswerID = uuid.Must(uuid.NewV7()).String()
	}
	for _, text := range []struct {
		field, value string
		most         int
	}{{"answerId", r.AnswerID, validate.MaxName}, {"reason", r.Reason, perdure.MaxAnswerReason}} {
		if len(text.value) > text.most {
			return perdure.FieldErrorf(text.field, "has %d bytes, and %d are allowed", len(text.value), text.most)
		}
		if err := perdure.CheckText(text.field, text.value); err != nil {
			return err
		}
	}
	switch r.Verdict {
	case perdure.VerdictApprove, perdure.VerdictDeny, perdure.VerdictAnswer:
	default:
		return perdure.FieldErrorf("verdict", "%q must be approve, deny or answer", r.Verdict)
	}
	if len(r.Value) > perdure.MaxAnswer {
		return perdure.FieldErrorf("answer", "has %d bytes, and %d are allowed", len(r.Value), perdure.MaxAnswer)
	}
	if err := checkEdited(r.Details); err != nil {
		return err
	}
	if r.Value == nil {
		return nil
	}
	return perdure.CheckDocumentBytes("answer", r.Value, perdure.DocumentRules{})
}
