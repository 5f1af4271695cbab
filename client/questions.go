package client

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"net/url"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const questions = "questions"

// QuestionFilter selects questions. A field with its zero value does not filter.
type QuestionFilter struct {
	Status      []perdure.QuestionStatus // any of these statuses
	Kind        perdure.QuestionKind
	Subject     string
	ExecutionID *uuid.UUID
	// Mine selects the open questions that the client's API key may answer now.
	Mine bool
}

func (f QuestionFilter) add(q url.Values) {
	for _, status := range f.Status {
		q.Add("status", string(status))
	}
	if f.Kind != "" {
		q.Set("kind", string(f.Kind))
	}
	if f.Subject != "" {
		q.Set("subject", f.Subject)
	}
	if f.ExecutionID != nil {
		q.Set("agentExecutionId", f.ExecutionID.String())
	}
	if f.Mine {
		q.Set("mine", "true")
	}
}

// OpenQuestions is the number of open questions of an org.
type OpenQuestions struct {
	// Open is the number of open questions of the org, whatever the filter selects. If More is true,
	// the org has more open questions than Open.
	Open int  `json:"open"`
	More bool `json:"openMore"`
}

// QuestionPage is one page of questions.
type QuestionPage struct {
	Page[*perdure.Question]
	OpenQuestions
}

// QuestionsPage returns one page of the questions that match the filter, newest first. The server
// leaves out the details of questions about tool calls. Errors: invalid_argument.
func (c *Client) QuestionsPage(ctx context.Context, f QuestionFilter, o PageOptions) (QuestionPage, error) {
	q := o.query()
	f.add(q)
	p, err := get[QuestionPage](ctx, c, q, questions)
	if err != nil {
		return QuestionPage{}, err
	}
	return *p, nil
}

// Questions returns all questions that match the filter, newest first. As for QuestionsPage, the
// server leaves out the details of questions about tool calls.
func (c *Client) Questions(ctx context.Context, f QuestionFilter) iter.Seq2[*perdure.Question, error] {
	return pages(func(o PageOptions) (Page[*perdure.Question], error) {
		p, err := c.QuestionsPage(ctx, f, o)
		return p.Page, err
	})
}

// Question returns a question with its details, byte for byte as they are stored. If the details
// have more than 256 KiB, the server leaves them out, and DetailsBytes is their size;
// QuestionDetails returns them. Errors: not_found.
func (c *Client) Question(ctx context.Context, id uuid.UUID) (*perdure.Question, error) {
	return get[perdure.Question](ctx, c, nil, questions, id.String())
}

// QuestionDetails returns the details of a question, of any size, byte for byte as they are stored.
// Errors: not_found, also if the question has no details.
func (c *Client) QuestionDetails(ctx context.Context, id uuid.UUID) ([]byte, error) {
	resp, err := c.unhurried(ctx, request{method: http.MethodGet, path: []string{questions, id.String(), "details"}})
	if err != nil {
		return nil, err
	}
	defer drain(resp.Body)
	var raw bytes.Buffer
	if _, err := io.Copy(&raw, resp.Body); err != nil {
		return nil, brokenOff(ctx, err)
	}
	return raw.Bytes(), nil
}

// AnswerRequest is a vote on a question.
type AnswerRequest struct {
	// AnswerID is the id of the vote. A second request with the same id has no effect. If AnswerID is
	// "", the method Answer creates an id.
	AnswerID string          `json:"answerId"`
	Verdict  perdure.Verdict `json:"verdict"`
	// DetailsSHA256 is the hash of the details that the voter has seen: the result of
	// perdure.DetailsHash for the question's kind, subject and details. It is required with
	// VerdictApprove.
	DetailsSHA256 *perdure.Hash `json:"detailsSha256,omitempty"`
	// Value is the answer. It is set with VerdictAnswer.
	Value json.RawMessage `json:"answer,omitempty"`
	// Details, with VerdictApprove, replace the details of the question, and the vote approves the new
	// details. The question's field Edit must permit the change. Votes before the change no longer
	// count.
	Details json.RawMessage `json:"details,omitempty"`
	// Remember, with VerdictApprove, requests a grant: later calls that the grant matches run
	// without a question.
	Remember *perdure.Remember `json:"remember,omitempty"`
	Reason   string            `json:"reason,omitempty"`
}

// Answer votes on a question and returns the question after the vote. The question is still open if
// a decision needs more votes. If the question was already decided, the error is a [DecidedError].
// Errors: invalid_argument, not_found, permission_denied, question_decided, details_changed,
// already_voted.
func (c *Client) Answer(ctx context.Context, id uuid.UUID, r AnswerRequest) (*perdure.Question, error) {
	if r.AnswerID == "" {
		r.AnswerID = uuid.NewString()
	}
	var q perdure.Question
	if err := c.call(ctx, request{method: http.MethodPost, path: []string{questions, id.String(), "answer"}, body: r}, &q); err != nil {
		return nil, err
	}
	return &q, nil
}

// DecidedError is the error with code question_decided. It contains the question with its decision.
type DecidedError struct {
	Question *perdure.Question
	err      *perdure.Error
}

func (e *DecidedError) Error() string { return e.err.Error() }

// Unwrap returns the [perdure.Error] with the code question_decided.
func (e *DecidedError) Unwrap() error { return e.err }

// QuestionsSnapshot are the open questions of an org at one time.
type QuestionsSnapshot struct {
	// Items are the newest open questions, at most 200.
	Items []*perdure.Question `json:"items"`
	OpenQuestions
}

// QuestionEvent is an event of FollowQuestions. Exactly one of the fields is set.
type QuestionEvent struct {
	// All contains the open questions of the org. They replace the questions from earlier events.
	All *QuestionsSnapshot
	// Changed is a question that is new or has changed since the last event.
	Changed *perdure.Question
}

// FollowQuestions returns the open questions of the org, and afterwards each question that changes,
// in its new state. Several quick changes of a question may arrive as one event. After an
// interruption of the stream, FollowQuestions returns all open questions again.
//
// The sequence ends with an error if ctx ends (the error is the context's cause) or if the server
// refuses the request. Errors: unauthenticated, permission_denied.
func (c *Client) FollowQuestions(ctx context.Context) iter.Seq2[QuestionEvent, error] {
	return func(yield func(QuestionEvent, error) bool) {
		take := func(e Event) error {
			event, err := questionEvent(e)
			if err != nil || event == (QuestionEvent{}) {
				return err
			}
			if !yield(event, nil) {
				return errLeft
			}
			return nil
		}
		err := c.resumed(ctx, func(ctx context.Context) (bool, error) {
			return c.events(ctx, request{method: http.MethodGet, path: []string{questions, "stream"}}, take)
		})
		if err != nil {
			yield(QuestionEvent{}, err)
		}
	}
}

// questionEvent decodes an event of the stream. It returns the zero QuestionEvent for a ping, and for
// an event type that only a later version knows.
func questionEvent(e Event) (q QuestionEvent, err error) {
	switch e.Type {
	case "questions":
		q.All = new(QuestionsSnapshot)
		err = json.Unmarshal(e.Data, q.All)
	case "question":
		q.Changed = new(perdure.Question)
		err = json.Unmarshal(e.Data, q.Changed)
	}
	if err != nil {
		return QuestionEvent{}, &perdure.Error{Code: perdure.Unavailable, Message: "an event of the server is no JSON", Err: err}
	}
	return q, nil
}
