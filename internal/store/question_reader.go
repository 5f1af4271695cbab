package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// QuestionReader reads questions. Questions contain their details and answers.
type QuestionReader interface {
	// Question returns a question of the org. Errors: not_found.
	Question(ctx context.Context, org string, id uuid.UUID) (*perdure.Question, error)
	// QuestionsOf returns questions of an execution by id, in the order of ids; nil for a question
	// that does not exist. It needs one query.
	QuestionsOf(ctx context.Context, execution uuid.UUID, ids []uuid.UUID) ([]*perdure.Question, error)
	// Questions lists questions, newest first. For one page, it examines at most ListRows
	// questions, so a page may be short or empty although there is a next page.
	Questions(ctx context.Context, org string, f QuestionFilter) (Page[*perdure.Question], error)
	// OpenQuestions returns the number of open questions of the org, or `most` if there are more.
	OpenQuestions(ctx context.Context, org string, most int) (int, error)
	// QuestionMarks returns the marks (see [QuestionMark]) of the newest open questions of the org,
	// at most `most` of them. It adds the marks of the newest NewestMarks questions of any status. A
	// question may appear twice.
	QuestionMarks(ctx context.Context, org string, most int) ([]QuestionMark, error)
	// SignalKeys returns the API keys that sent the signals which the execution has taken or
	// consumed, like the field SignalKeys of [State].
	SignalKeys(ctx context.Context, execution uuid.UUID) ([]uuid.UUID, error)
	// Link returns a link by the SHA-256 of its token, whether or not it still works. Errors:
	// not_found.
	Link(ctx context.Context, token perdure.Hash) (*Link, error)
	// Links lists the stored links to a question, newest first, at most 1,000.
	Links(ctx context.Context, execution, question uuid.UUID) ([]*perdure.QuestionLink, error)
	// Grants lists grants that have not expired, newest first. For one page, it examines at most
	// ListRows grants, so a page may be short or empty although there is a next page.
	Grants(ctx context.Context, f GrantFilter) (Page[*perdure.ApprovalGrant], error)
}

// Link is a link to a question, and the API key in whose name the link votes. The key may be
// revoked.
type Link struct {
	perdure.QuestionLink
	Key *perdure.APIKey
}

// GrantFilter selects the grants of an org. At most one of ExecutionID and DefinitionID is set.
type GrantFilter struct {
	Org          string
	ExecutionID  *uuid.UUID
	DefinitionID *uuid.UUID
	// Now is the time that decides which grants have expired. Expired grants are left out.
	Now    perdure.Time
	Cursor string
	Limit  int
}

// NewestMarks is the number of questions of any status whose marks QuestionMarks returns.
const NewestMarks = 200

// QuestionMark identifies a version of a question, so that a caller can detect changes.
type QuestionMark struct {
	ID      uuid.UUID
	Version int64
	Open    bool
}

// QuestionFilter narrows a list of questions. A field with its zero value selects all questions.
type QuestionFilter struct {
	Status      []perdure.QuestionStatus
	Kind        perdure.QuestionKind
	Subject     string
	ExecutionID *uuid.UUID
	Cursor      string
	Limit       int
}

// Selects reports whether the filter selects a question. It ignores Cursor and Limit.
func (f QuestionFilter) Selects(q *perdure.Question) bool {
	return (len(f.Status) == 0 || slices.Contains(f.Status, q.Status)) && (f.Kind == "" || f.Kind == q.Kind) &&
		(f.Subject == "" || f.Subject == q.Subject) && (f.ExecutionID == nil || *f.ExecutionID == q.ExecutionID)
}
