package agent

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

var (
	// ErrExpired is returned if a question has expired without an answer, and OnExpiry sets no answer
	// for this case.
	ErrExpired = errors.New("nobody answered the question in time")
	// ErrWithdrawn is returned if a question was withdrawn.
	ErrWithdrawn = errors.New("the question was withdrawn")
	// ErrDenied is wrapped by the errors of AskFor, AskChoice and Approved if the answer is a denial.
	ErrDenied = errors.New("the answer is no")
)

// Question is a question that an agent asks people. It is durable: it stays open until it is
// answered, expires or is withdrawn, also while no worker runs.
type Question struct {
	// Name and Instance identify the question in the execution. A function that is entered again asks
	// with the same Name and Instance, and gets the stored question. Instance distinguishes questions
	// with the same Name.
	Name, Instance string
	// Kind is the kind of the question. The default is perdure.QuestionInput if Schema is set,
	// perdure.QuestionChoice if Choices is set, and perdure.QuestionApproval otherwise.
	Kind perdure.QuestionKind
	// Subject names the thing that the question is about. Prompt is the text that people read.
	Subject, Prompt string
	// Schema is the JSON Schema of the answer. Choices are the possible answers. At most one of the two
	// is set.
	Schema  json.RawMessage
	Choices []perdure.QuestionOption
	// Details are shown beside the prompt. They are encoded as JSON, and a voter approves exactly this
	// JSON.
	Details any
	// Call, if set, is the tool call that an approval is about. The arguments of the call are the
	// question's details.
	Call *QuestionCall
	// Needed, NotAsker and By determine how many people must answer, and who may. They have the
	// meaning of the fields of perdure.QuestionTerms with these names.
	Needed   int
	NotAsker bool
	By       []string
	// Edit says who may change the details while approving them. After an approval,
	// perdure.Question.Details contains the details as they were approved.
	Edit perdure.EditRight
	// NoGrants means that people are asked every time: see perdure.QuestionTerms.NoGrants.
	NoGrants bool
	// Expires is the time from when the question is asked until it expires; with 0 it never
	// expires. OnExpiry and Default determine what happens when the question expires.
	Expires  time.Duration
	OnExpiry perdure.OnExpiry
	Default  any
}

// QuestionCall is the tool call that an approval is about.
type QuestionCall struct {
	// EntryID is the entry that contains the tool call, and CallID the id of the call. If EntryID is
	// not set, the question stores the arguments.
	EntryID uuid.UUID
	CallID  string
	// Arguments are the arguments of the call as JSON text, exactly as the call contains them.
	Arguments string
}

// New converts q to the question that a commit contains. Errors: invalid_argument.
func (q Question) New() (perdure.NewQuestion, error) {
	n := perdure.NewQuestion{
		Key: q.key(), ExpiresAfter: q.Expires,
		QuestionTerms: perdure.QuestionTerms{
			Kind: q.kind(), Subject: q.Subject, Prompt: q.Prompt, Schema: q.Schema, Choices: q.Choices,
			Needed: q.Needed, NotAsker: q.NotAsker, By: q.By, Edit: q.Edit, NoGrants: q.NoGrants, OnExpiry: q.OnExpiry,
		},
	}
	var err error
	if n.Details, err = encoded("details", q.Details); err != nil {
		return n, err
	}
	if n.Default, err = encoded("default", q.Default); err != nil {
		return n, err
	}
	details := []byte(n.Details)
	switch {
	case q.Call != nil && q.Call.EntryID == uuid.Nil:
		n.Details = json.RawMessage(q.Call.Arguments)
		details = n.Details
	case q.Call != nil:
		n.EntryID, n.CallID, details = &q.Call.EntryID, q.Call.CallID, []byte(q.Call.Arguments)
		n.BareSHA256 = sha256.Sum256(details)
	}
	n.DetailsSHA256 = perdure.DetailsHash(n.Kind, n.Subject, details)
	return n, n.Check("question")
}

func (q Question) key() string {
	if q.Instance == "" {
		return q.Name
	}
	return q.Name + "#" + q.Instance
}

func (q Question) kind() perdure.QuestionKind {
	switch {
	case q.Kind != "":
		return q.Kind
	case q.Schema != nil:
		return perdure.QuestionInput
	case len(q.Choices) > 0:
		return perdure.QuestionChoice
	}
	return perdure.QuestionApproval
}

// encoded returns the value as JSON, and nil for a nil value. Its error contains `what`, the name
// of the question's field.
func encoded(what string, value any) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, perdure.FieldErrorf("question."+what, "do not encode: %v", err)
	}
	return raw, nil
}

// QuestionRef refers to a question that was asked, or contains the reason why a question could not
// be asked.
type QuestionRef struct {
	ID  uuid.UUID
	err error
}

// NewQuestionRef returns a reference to the question with the given id.
func NewQuestionRef(id uuid.UUID) QuestionRef { return QuestionRef{ID: id} }

// FailedQuestionRef returns a reference to a question that could not be asked. Every wait for it returns the
// error err.
func FailedQuestionRef(err error) QuestionRef { return QuestionRef{err: err} }

// Err returns the reason why the question could not be asked, or nil if the question was asked.
func (a QuestionRef) Err() error { return a.err }

// MarshalJSON returns the id of the question as a JSON string.
func (a QuestionRef) MarshalJSON() ([]byte, error) { return json.Marshal(a.ID) }

// OnQuestion returns a condition that is met when the question has an answer, has expired or was
// withdrawn.
func OnQuestion(a QuestionRef) Condition { return Condition{Question: &a} }

// Decision returns the answer of a question that WaitAny or AwaitQuestion returned. Errors:
// ErrExpired, ErrWithdrawn.
func Decision(q perdure.Question) (perdure.Answer, error) {
	switch {
	case q.Status == perdure.QuestionWithdrawn:
		return perdure.Answer{}, ErrWithdrawn
	case q.Answer == nil:
		return perdure.Answer{}, ErrExpired
	}
	return *q.Answer, nil
}

// AskFor asks for a value of type T. The JSON Schema of the answer is derived from T. It blocks until
// the question has an answer. If the answer is a denial, the error wraps ErrDenied and contains the
// voter's reason. Errors: ErrDenied, ErrExpired, ErrWithdrawn.
func AskFor[T any](ctx Context, name, prompt string, options ...QuestionOption) (T, error) {
	q := Question{Name: name, Kind: perdure.QuestionInput, Prompt: prompt, Schema: Schema[T]()}
	return askFor[T](ctx, q, options)
}

// AskChoice asks people to choose one of choices, and returns the chosen one. It blocks until the
// question has an answer. Errors: as for AskFor.
func AskChoice(ctx Context, name, prompt string, choices []string, options ...QuestionOption) (string, error) {
	q := Question{Name: name, Kind: perdure.QuestionChoice, Prompt: prompt}
	for _, c := range choices {
		q.Choices = append(q.Choices, perdure.QuestionOption{Value: c})
	}
	return askFor[string](ctx, q, options)
}

// Confirm asks whether something may happen, and shows the details. The result `yes` reports
// whether the answer is an approval, and `reason` is the text that the voter has written. Confirm
// blocks until the question has an answer. Errors: ErrExpired, ErrWithdrawn.
func Confirm(ctx Context, name, prompt string, details any, options ...QuestionOption) (yes bool, reason string, err error) {
	q := Question{Name: name, Kind: perdure.QuestionApproval, Prompt: prompt, Details: details}
	for _, option := range options {
		option(&q)
	}
	answer, err := ctx.Ask(q)
	return answer.Verdict == perdure.VerdictApprove, answer.Reason, err
}

func askFor[T any](ctx Context, q Question, options []QuestionOption) (T, error) {
	var value T
	for _, option := range options {
		option(&q)
	}
	answer, err := ctx.Ask(q)
	if err != nil {
		return value, err
	}
	if answer.Verdict != perdure.VerdictAnswer {
		return value, fmt.Errorf("%w: %s", ErrDenied, answer.Reason)
	}
	if err := unmarshal(answer.Value, &value); err != nil {
		return value, perdure.Errorf(perdure.InvalidArgument, "the answer to %s: %v", q.key(), err)
	}
	return value, nil
}

// QuestionOption sets a field of the question that AskFor, AskChoice or Confirm asks.
type QuestionOption func(*Question)

// AskInstance sets a text that distinguishes questions with the same name.
func AskInstance(instance string) QuestionOption { return func(q *Question) { q.Instance = instance } }

// AskBy limits who may answer: see perdure.QuestionTerms.By.
func AskBy(by ...string) QuestionOption { return func(q *Question) { q.By = by } }

// AskVotes sets the number of votes that a decision needs.
func AskVotes(needed int) QuestionOption { return func(q *Question) { q.Needed = needed } }

// AskOthers excludes votes of the API key that started the run, and of the senders of the signals that
// the current response has taken.
func AskOthers() QuestionOption { return func(q *Question) { q.NotAsker = true } }

// AskFail lets the question expire after the duration d. The wait for the answer then returns
// ErrExpired.
func AskFail(d time.Duration) QuestionOption {
	return func(q *Question) { q.Expires, q.OnExpiry = d, perdure.OnExpiryFail }
}

// AskDeny lets the question expire after the duration d with a denial.
func AskDeny(d time.Duration) QuestionOption {
	return func(q *Question) { q.Expires, q.OnExpiry = d, perdure.OnExpiryDeny }
}

// AskDefault lets the question expire after the duration d with the given value as its answer.
func AskDefault(d time.Duration, value any) QuestionOption {
	return func(q *Question) { q.Expires, q.OnExpiry, q.Default = d, perdure.OnExpiryDefault, value }
}
