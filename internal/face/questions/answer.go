package questions

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/problem"
)

type answerInput struct {
	operation.IDInput
	Body struct {
		AnswerID      string          `json:"answerId,omitempty" doc:"Sending the same id again returns the first outcome."`
		Verdict       string          `json:"verdict" enum:"approve,deny,answer" doc:"answer for questions with a schema or choices, approve for others. Every question can be denied."`
		DetailsSHA256 string          `json:"detailsSha256,omitempty" doc:"That of the question as it was read. approve needs it."`
		Answer        json.RawMessage `json:"answer,omitempty" doc:"With the verdict answer: a value that fits the schema, or one of the choices."`
		Details       json.RawMessage `json:"details,omitempty" doc:"With the verdict approve, for questions whose edit permits it: what to approve instead, up to 32 KiB. detailsSha256 is still that of the question as it was read. Votes before no longer count."`
		Remember      *rememberInput  `json:"remember,omitempty" doc:"With the verdict approve, for approvals of tool calls: later such calls run without a question. If the question needs several votes, all of them must ask for the same."`
		Reason        string          `json:"reason,omitempty" doc:"Up to 4 KiB. The agent reads it."`
	}
}

// rememberInput is the part of an answer that asks for a grant: a rule that answers similar
// questions in the future.
type rememberInput struct {
	Scope string `json:"scope" enum:"run,definition" doc:"run: this run. definition: all runs of its definition; only admin keys."`
	Match string `json:"match" enum:"exact,tool" doc:"exact: the same tool with the same arguments, byte by byte. tool: every call of the tool."`
	Until string `json:"until,omitempty" format:"date-time" doc:"30 days from now if it is left out, at most 366 days."`
}

func (r *rememberInput) read() (*perdure.Remember, error) {
	if r == nil {
		return nil, nil
	}
	remember := &perdure.Remember{Scope: perdure.GrantScope(r.Scope), Match: perdure.GrantMatch(r.Match)}
	if r.Until != "" {
		remember.Until = new(perdure.Time)
		if err := remember.Until.UnmarshalText([]byte(r.Until)); err != nil {
			return nil, perdure.FieldErrorf("remember.until", "must be a time such as 2027-01-31T12:00:00Z")
		}
	}
	return remember, nil
}

func (s *server) answer(ctx context.Context, in *answerInput) (*operation.Body[*perdure.Question], error) {
	id, err := idOf(in.IDInput)
	if err != nil {
		return nil, err
	}
	r := questions.AnswerRequest{
		Question: id, AnswerID: in.Body.AnswerID, Verdict: perdure.Verdict(in.Body.Verdict), Value: in.Body.Answer, Details: in.Body.Details, Reason: in.Body.Reason,
		Role: front.CallerOf(ctx).Role,
	}
	if r.Remember, err = in.Body.Remember.read(); err != nil {
		return nil, err
	}
	if in.Body.DetailsSHA256 != "" {
		r.DetailsSHA256 = new(perdure.Hash)
		if r.DetailsSHA256.UnmarshalText([]byte(in.Body.DetailsSHA256)) != nil {
			return nil, perdure.FieldErrorf("detailsSha256", "must be the detailsSha256 of the question: 64 hexadecimal digits")
		}
	}
	reply, err := s.Engine.Answer(ctx, in.Org, r)
	if perdure.IsCode(err, perdure.QuestionDecided) {
		return nil, s.decided(ctx, in.Org, id, err)
	}
	if err != nil {
		return nil, err
	}
	return operation.BodyOf(&reply.Question), s.show(ctx, in.Org, &reply.Question)
}

// decided returns the problem for an answer that comes after the question was decided. The problem
// contains the question with its decision.
func (s *server) decided(ctx context.Context, org string, id uuid.UUID, cause error) error {
	q, err := s.Engine.Read().Question(ctx, org, id)
	if err != nil {
		return err
	}
	if err := s.show(ctx, org, q); err != nil {
		return err
	}
	p := problem.New(perdure.QuestionDecided, s.ProblemOf(ctx, cause).Detail)
	p.Question = q
	return p
}
