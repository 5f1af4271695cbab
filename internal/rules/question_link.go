package rules

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// NewLink is a request for a link to a question.
type NewLink struct {
	Question, Key uuid.UUID
	// TokenSHA256 is the SHA-256 of the token in the new link.
	TokenSHA256 perdure.Hash
	Life        time.Duration
	// Actor is the actor in the audit log. It is nil if the server creates the link for a webhook;
	// the audit log then says who has bound the webhook to the key.
	Actor *perdure.Actor
}

// LinkNeeds says which rows the engine must read into the store.State that it passes to CreateLink.
func LinkNeeds(n NewLink) store.Needs {
	return store.Needs{Questions: []uuid.UUID{n.Question}, KeyID: &n.Key, SignalKeys: true}
}

// CreateLink creates a link through which the holder of an API key can answer a question, if the
// key may answer it now. The command's result is the link. Errors: not_found,
// invalid_argument, question_decided, already_voted.
func CreateLink(s *store.State, n NewLink) (*store.Changes, error) {
	q := s.Questions[n.Question]
	if s.Execution == nil || q == nil {
		return nil, perdure.Errorf(perdure.NotFound, "there is no question %s", n.Question)
	}
	if err := CheckLinkKey(s.Key, n.Key); err != nil {
		return nil, err
	}
	askers := askersOf(s, q)
	voter := Voter{Role: s.Key.Role, KeyID: &s.Key.ID, Name: s.Key.Name, Since: &s.Key.CreatedAt}
	if why := voter.excluded(q, askers); why != "" && !q.Status.Final() {
		return nil, perdure.FieldErrorf("keyId", "%s may not answer this question: %s", voter.Name, why)
	}
	if err := voter.MayAnswer(q, askers); err != nil {
		return nil, err
	}
	l := &perdure.QuestionLink{
		QuestionID: q.ID, KeyID: n.Key, QuestionVersion: q.Version, CreatedAt: s.Now, ExpiresAt: s.Now.Add(n.Life),
		Org: q.Org, ExecutionID: s.Execution.ID, TokenSHA256: n.TokenSHA256,
	}
	c := &store.Changes{Link: l, Answer: &Decision{Value: l}}
	if n.Actor != nil {
		c.Audit = linkAudit(s.Now, *n.Actor, perdure.AuditLinkCreated, q, s.Key.Name)
	}
	return c, nil
}

// CheckLinkKey checks that an API key with the id exists and can answer questions. Errors:
// invalid_argument.
func CheckLinkKey(key *perdure.APIKey, id uuid.UUID) error {
	switch {
	case key == nil || key.RevokedAt != nil:
		return perdure.FieldErrorf("keyId", "there is no key %s, or it is revoked; perdure keys list shows them", id)
	case key.Role == perdure.KeyWorker:
		return perdure.FieldErrorf("keyId", "%s is a key of role worker, which answers no questions", key.Name)
	}
	return nil
}

// LinkRevocation is a request to delete the links to a question: those of one API key, or all.
type LinkRevocation struct {
	Question uuid.UUID
	KeyID    *uuid.UUID
	Actor    perdure.Actor // for the audit log
}

// RevokeLinks deletes links to a question, if there are any. Error: not_found, if there is no such
// question.
func RevokeLinks(s *store.State, r LinkRevocation) (*store.Changes, error) {
	q := s.Questions[r.Question]
	if q == nil {
		return nil, perdure.Errorf(perdure.NotFound, "there is no question %s", r.Question)
	}
	if !slices.ContainsFunc(s.Links, func(l *perdure.QuestionLink) bool { return r.KeyID == nil || *r.KeyID == l.KeyID }) {
		return nil, nil
	}
	name := "all links"
	if r.KeyID != nil {
		name = r.KeyID.String()
	}
	return &store.Changes{
		DropLinks: &store.LinkDrop{QuestionID: q.ID, KeyID: r.KeyID},
		Audit:     linkAudit(s.Now, r.Actor, perdure.AuditLinksRevoked, q, name),
	}, nil
}

// SweepLinks deletes at most `most` expired links to questions of the execution. If the execution
// does not exist, the changes are nil.
func SweepLinks(s *store.State, most int) (*store.Changes, error) {
	if s.Execution == nil {
		return nil, nil // the links are deleted with the execution
	}
	return &store.Changes{SweepLinks: most, Answer: &Decision{}}, nil
}

func linkAudit(now perdure.Time, by perdure.Actor, action perdure.AuditAction, q *perdure.Question, name string) *perdure.AuditRecord {
	id := q.ID
	return &perdure.AuditRecord{At: now, Actor: by, Action: action, SubjectID: &id, SubjectName: name, Org: q.Org}
}

// ErrLinkEnded is the error of a link that is unknown or no longer works. It does not say which of
// the two.
var ErrLinkEnded = perdure.Errorf(perdure.NotFound, "this link does not work: it is unknown, has expired, was used or was revoked, or the question has changed")

// checkLink checks that the link of a vote works, and that the voter is the link's API key. Errors:
// ErrLinkEnded.
func (v NewVote) checkLink(s *store.State) error {
	l, key := s.Link, s.Key
	switch {
	case v.Link == nil:
		return nil
	case l == nil || l.QuestionID != v.Question || l.ExpiresAt.Reached(s.Now):
		return ErrLinkEnded
	case key == nil || key.ID != l.KeyID || key.RevokedAt != nil || key.Role != v.Role:
		return ErrLinkEnded
	}
	return nil
}
