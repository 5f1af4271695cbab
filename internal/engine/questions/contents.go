package questions

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine/homes"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
	"golang.org/x/sync/errgroup"
)

// questionReadWithin is the maximum time for which a request waits for the contents of questions from
// workers.
const questionReadWithin = 5 * time.Second

// Show completes questions of LOCAL executions with their contents, which it reads from the
// workers. If a question's worker does not send the contents in time, or if with these contents all
// contents would exceed store.PageBytes, the question gets a perdure.ContentMark instead. Questions
// of REMOTE executions do not change. Errors: those of the store; the cause of the context's end.
func (s *Questions) Show(ctx context.Context, org string, questions ...*perdure.Question) error {
	within, cancel := context.WithTimeout(ctx, questionReadWithin)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(homes.Fetches)
	left := int64(store.PageBytes)
	known := map[uuid.UUID]*perdure.Execution{}
	for _, q := range questions {
		if ref := LargeDetails(q); ref != nil {
			q.DetailsBytes = ref.Length
		}
		size := withheldBytes(q)
		if size == 0 {
			continue
		}
		if size > left {
			markWithheld(q)
			continue
		}
		x := known[q.ExecutionID]
		if x == nil {
			var err error
			if x, err = s.refs.Execution(ctx, org, q.ExecutionID); err != nil && !perdure.IsCode(err, perdure.NotFound) {
				return err
			}
			known[q.ExecutionID] = x
		}
		if x == nil {
			markWithheld(q)
			continue
		}
		left -= size
		group.Go(func() error {
			s.showQuestion(within, x, q)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// withheldBytes returns the size of those contents of a question that only the worker has.
func withheldBytes(q *perdure.Question) (size int64) {
	if q.Withheld != nil {
		size += q.Withheld.Bytes
	}
	if q.Answer != nil && q.Answer.Withheld != nil {
		size += q.Answer.Withheld.Bytes
	}
	return size
}

// showQuestion reads the contents of a question from the worker, and adds them to the question. A
// content that cannot be read is replaced by its length and hash (see markWithheld).
func (s *Questions) showQuestion(ctx context.Context, x *perdure.Execution, q *perdure.Question) {
	if q.Withheld != nil {
		if content, err := s.questionContent(ctx, x, q); err == nil {
			content.Fill(q)
		}
	}
	if q.Answer != nil && q.Answer.Withheld != nil {
		if decision, err := s.decisionOf(ctx, x, q); err == nil {
			decision.Fill(q)
		}
	}
	markWithheld(q)
}

// markWithheld replaces the references to contents of a question by a perdure.ContentMark. Clients
// get the mark; the references are only for the server.
func markWithheld(q *perdure.Question) {
	if q.Withheld != nil {
		q.ContentMark, q.Withheld = q.Withheld.Mark(), nil
	}
	if q.Answer == nil {
		return
	}
	q.Answer.BareSHA256 = nil
	if q.Answer.Withheld != nil {
		q.Answer.ContentMark, q.Answer.Withheld = q.Answer.Withheld.Mark(), nil
	}
}

// questionContent reads the content of a question that only the worker has. Errors: unavailable,
// not_found, internal.
func (s *Questions) questionContent(ctx context.Context, x *perdure.Execution, q *perdure.Question) (perdure.QuestionContent, error) {
	raw, err := s.homes.Whole(ctx, x, q.Withheld.Ref(x.ID))
	if err != nil {
		return perdure.QuestionContent{}, err
	}
	return perdure.DecodeQuestionContent(raw)
}

// decisionOf reads the texts and values in the answer to a question, if only the worker has them.
// Errors: as for questionContent.
func (s *Questions) decisionOf(ctx context.Context, x *perdure.Execution, q *perdure.Question) (perdure.Decision, error) {
	raw, err := s.homes.Whole(ctx, x, q.Answer.Withheld.Ref(x.ID))
	if err != nil {
		return perdure.Decision{}, err
	}
	return perdure.DecodeDecision(raw)
}

// readFor checks a vote on a question of a LOCAL execution. It reads the question's content from
// the worker, and compares the content with the vote and with the hashes that the worker sent with
// the question. If the content cannot be read or does not match, readFor sets vote.Unread, and the
// question can only be denied. Errors: those of the store.
func (s *Questions) readFor(ctx context.Context, org string, q *perdure.Question, vote *rules.NewVote) error {
	if q.Withheld == nil || !vote.Reads(q) {
		return nil
	}
	x, err := s.refs.Execution(ctx, org, q.ExecutionID)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, questionReadWithin)
	defer cancel()
	content, err := s.questionContent(within, x, q)
	var whole, bare perdure.Hash
	if err == nil {
		whole, bare, err = s.shownHashes(within, x, q, content)
	}
	if err != nil {
		vote.Unread = contentAway(q, err)
		return context.Cause(ctx)
	}
	asked := *q
	content.Fill(&asked)
	switch {
	case whole != q.DetailsSHA256, q.Details == nil && bare != q.Withheld.BareSHA256, !asked.SameValue(q.QuestionTerms):
		vote.Unread = perdure.Errorf(perdure.DetailsChanged, "the worker has stated another hash than the content of question %s has, so it can only be denied", q.ID)
	case vote.Verdict == perdure.VerdictAnswer && asked.TakesValue() && vote.Value != nil:
		if vote.Unread = s.kinds.Schemas.CheckRegistered("schema", "question "+q.ID.String(), asked.Schema); vote.Unread == nil {
			vote.Misfit = s.misfitAnswer("answer", asked.QuestionTerms, vote.Value)
		}
	}
	return nil
}

// shownHashes returns two hashes of the details that people are shown for a question of a LOCAL
// execution: the DetailsHash, and the SHA-256 of the bytes alone. Errors: those of the read.
func (s *Questions) shownHashes(ctx context.Context, x *perdure.Execution, q *perdure.Question, content perdure.QuestionContent) (whole, bare perdure.Hash, err error) {
	details := []byte(content.Details)
	switch {
	case q.Details != nil:
		details = q.Details
	case LargeDetails(q) != nil:
		return s.largeHashes(ctx, q)
	case q.EntryID != nil:
		details, err = s.arguments(ctx, x, q)
	}
	return perdure.DetailsHash(q.Kind, q.Subject, details), sha256.Sum256(details), err
}

// contentAway returns the error for a vote on a question whose content cannot be read.
func contentAway(q *perdure.Question, err error) error {
	return &perdure.Error{
		Code: perdure.Unavailable, Err: err,
		Message: "question " + q.ID.String() + " can only be denied now, because its content cannot be read: it is on the worker of the run, which is not connected or does not answer",
	}
}

// storedInput returns the input of an execution. It reads the input of a LOCAL execution from its
// worker. Errors: unavailable, not_found, internal.
func (s *Questions) storedInput(ctx context.Context, x *perdure.Execution) (json.RawMessage, error) {
	if x.Input != nil || x.InputBlob == nil {
		return x.Input, nil
	}
	within, cancel := context.WithTimeout(ctx, questionReadWithin)
	defer cancel()
	return s.homes.Whole(within, x, *x.InputBlob)
}

// FillDecisions adds answers to questions of a promoted execution, from the contents that Promote
// has copied. The answers of an execution that is still LOCAL stay on its worker, and are not
// added. Errors: those of the store; internal.
func (s *Questions) FillDecisions(ctx context.Context, execution uuid.UUID, questions []*perdure.Question) error {
	if !slices.ContainsFunc(questions, func(q *perdure.Question) bool { return q != nil && withheldBytes(q) > 0 }) {
		return nil
	}
	for _, q := range questions {
		if q == nil {
			continue
		}
		if q.Answer != nil && q.Answer.Withheld != nil {
			raw, err := s.homes.Held(ctx, execution, q.Answer.Withheld.Ref(execution))
			if err != nil || raw == nil {
				return err
			}
			decision, err := perdure.DecodeDecision(raw)
			if err != nil {
				return err
			}
			decision.Fill(q)
		}
		if q.Withheld != nil && q.Status == perdure.QuestionExpired && q.Answer != nil && q.Answer.Verdict == perdure.VerdictAnswer {
			raw, err := s.homes.Held(ctx, execution, q.Withheld.Ref(execution))
			if err != nil || raw == nil {
				return err
			}
			content, err := perdure.DecodeQuestionContent(raw)
			if err != nil {
				return err
			}
			content.Fill(q)
		}
	}
	return nil
}
