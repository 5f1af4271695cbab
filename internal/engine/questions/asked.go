package questions

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// CheckAsked checks the questions that a commit asks. Errors: invalid_argument.
func (s *Questions) CheckAsked(c perdure.Commit) error {
	if n := len(c.Questions) + len(c.Withdraw); n > 2*perdure.MaxOpenQuestions {
		return perdure.FieldErrorf("questions", "the commit names %d questions, and %d are allowed", n, 2*perdure.MaxOpenQuestions)
	}
	keys := map[string]bool{}
	for i, q := range c.Questions {
		at := fmt.Sprintf("questions[%d]", i)
		if err := q.Check(at); err != nil {
			return err
		}
		if keys[q.Key] {
			return perdure.Errorf(perdure.QuestionKeyReused, "%s: the commit asks two questions with the key %q", at, q.Key)
		}
		keys[q.Key] = true
		if err := s.kinds.Schemas.CheckRegistered(at+".schema", "the question", q.Schema); err != nil {
			return err
		}
		if q.Default == nil {
			continue
		}
		if err := s.misfitAnswer(at+".default", q.QuestionTerms, q.Default); err != nil {
			return err
		}
	}
	return nil
}

// misfitAnswer compares a value with the schema or the choices of a question. It returns nil if the
// value fits. The parameter `at` names the value in the text of the error.
func (s *Questions) misfitAnswer(at string, t perdure.QuestionTerms, value []byte) error {
	if err := t.CheckValue(at, value); err != nil {
		return err
	}
	return s.kinds.Schemas.Check(at, perdure.KindSpec{Kind: "the question", InputSchema: t.Schema}, value)
}

// inlineAnswers is the maximum total size in bytes of the answers in a claim or a reply. The size
// of an answer includes the details that its voter has changed.
const inlineAnswers = 1 << 20

// ForWorker returns questions of an execution in the form in which its worker gets them: without
// the votes, without the terms except kind and subject, and without details that no voter has
// changed. Once the total size exceeds inlineAnswers, each further answer is the zero Answer, and
// the worker has to read it with Dispatch.Questions.
func ForWorker(ctx context.Context, refs store.ClaimReader, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := refs.QuestionsOf(ctx, execution, ids)
	if err != nil {
		return nil, err
	}
	size := 0
	var questions []*perdure.Question
	for _, q := range found {
		if q == nil {
			continue
		}
		q.QuestionTerms = perdure.QuestionTerms{Kind: q.Kind, Subject: q.Subject, Withheld: q.Withheld}
		if !q.Edited() {
			q.Details = nil
		}
		q.Votes = nil
		if q.Answer != nil {
			if size += len(q.Answer.Value) + len(q.Answer.Reason) + len(q.Details) + int(withheldBytes(q)); size > inlineAnswers {
				q.Answer = &perdure.Answer{}
				q.Details = nil
			}
		}
		questions = append(questions, q)
	}
	return questions, nil
}
