package questions

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/rules/validate"
	"github.com/perdure/perdure/internal/store"
)

// AnswerRequest is an answer to a question. A second request with the same AnswerID by the same
// voter changes nothing.
type AnswerRequest struct {
	Question uuid.UUID
	// AnswerID identifies the answer; if it is "", the server creates an id.
	AnswerID string
	Verdict  perdure.Verdict
	// Value is the JSON value of the answer. It is set only for VerdictAnswer.
	Value  json.RawMessage
	Reason string
	// Details, if set, replace the details of the question: the voter approves these details
	// instead. An answer may set Details only with VerdictApprove.
	Details json.RawMessage
	// Remember, if set, also creates a grant, which answers later questions of the execution
	// automatically.
	Remember *perdure.Remember
	// DetailsSHA256 is the hash of the details that the voter has read, as in
	// Question.DetailsSHA256. It is required for VerdictApprove.
	DetailsSHA256 *perdure.Hash
	// Role is the role of the voter.
	Role perdure.KeyRole
	// Link is set if the voter uses a link to the question. [LinkToken] returns the value.
	Link *perdure.Hash
}

// NewVote checks an answer, and reads the stored data that rules.AnswerQuestion needs. The field
// Handover of the returned vote is not set. Errors: invalid_argument, not_found; those of the
// store.
func (s *Questions) NewVote(ctx context.Context, org string, r AnswerRequest) (*perdure.Question, rules.NewVote, error) {
	if err := checkAnswer(&r); err != nil {
		return nil, rules.NewVote{}, err
	}
	q, err := s.store.Question(ctx, org, r.Question)
	if err != nil {
		return nil, rules.NewVote{}, err
	}
	vote := newVote(ctx, r)
	if err := s.readFor(ctx, org, q, &vote); err != nil {
		return nil, rules.NewVote{}, err
	}
	if r.Verdict == perdure.VerdictAnswer && q.TakesValue() && r.Value != nil && q.Withheld == nil {
		vote.Misfit = s.misfitAnswer("answer", q.QuestionTerms, r.Value)
	}
	if vote.Edit, err = s.editOf(ctx, org, q, r, vote.Unread == nil && vote.Reads(q)); err != nil {
		return nil, rules.NewVote{}, err
	}
	if r.Verdict == perdure.VerdictApprove {
		vote.OtherDetails = s.otherDetails(ctx, q, r.DetailsSHA256)
	}
	return q, vote, nil
}

// CheckAnswer checks whether the approval or denial r would be accepted now. It changes nothing. It
// returns nil if r would be accepted, or if r repeats a stored answer. r must not have a Value,
// Details or Remember. Errors: those of engine.Engine.Answer.
func (s *Questions) CheckAnswer(ctx context.Context, org string, r AnswerRequest, v Voter) error {
	q, vote, err := s.NewVote(ctx, org, r)
	if err != nil {
		return err
	}
	askers := q.Askers
	if q.NotAsker && askers == nil {
		if askers, err = s.allAskers(ctx, org, q.ExecutionID); err != nil {
			return err
		}
	}
	return vote.Check(q, v, askers)
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
