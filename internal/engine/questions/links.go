package questions

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// linkTokenBytes is the number of random bytes of the token of a link.
const linkTokenBytes = 32

// LinkRequest is a request for a link through which an API key answers a question.
type LinkRequest struct {
	Question, Key uuid.UUID
	// Life is the time after which the link expires; 0 means perdure.LinkLife.
	Life time.Duration
}

// CreateLink creates a link on behalf of the actor in ctx. It returns the link and its token, which
// is not stored. Errors: not_found, invalid_argument, question_decided, already_voted.
func (s *Questions) CreateLink(ctx context.Context, org string, r LinkRequest) (*perdure.QuestionLink, string, error) {
	if r.Life == 0 {
		r.Life = perdure.LinkLife
	}
	actor := store.ActorOf(ctx)
	return s.createLink(ctx, org, r, &actor)
}

// WebhookLink creates a link for a delivery to a webhook, and returns the link's token. The
// parameter `key` is the API key of the webhook; answers through the link are votes of this key.
// The token is "" if the key may not answer the question now. Errors: those of the store.
func (s *Questions) WebhookLink(ctx context.Context, org string, question, key uuid.UUID) (string, error) {
	_, token, err := s.createLink(ctx, org, LinkRequest{Question: question, Key: key, Life: perdure.MaxLinkLife}, nil)
	if perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.Internal) {
		return "", err
	}
	return token, nil //nolint:nilerr // the question is decided or gone, or the key is excluded or revoked
}

func (s *Questions) createLink(ctx context.Context, org string, r LinkRequest, actor *perdure.Actor) (*perdure.QuestionLink, string, error) {
	if r.Life < time.Second || r.Life > perdure.MaxLinkLife {
		return nil, "", perdure.FieldErrorf("expires", "must be a duration from 1s to %d hours, such as 24h", int(perdure.MaxLinkLife.Hours()))
	}
	q, err := s.store.Question(ctx, org, r.Question)
	if err != nil {
		return nil, "", err
	}
	raw := make([]byte, linkTokenBytes)
	rand.Read(raw) // never fails
	token := base64.RawURLEncoding.EncodeToString(raw)
	n := rules.NewLink{Question: r.Question, Key: r.Key, TokenSHA256: linkHash(token), Life: r.Life, Actor: actor}
	link, err := s.one(ctx, store.Command{
		Name: "create link", Lane: store.LaneCommits, Org: org, Execution: q.ExecutionID,
		Needs:  func(*perdure.Execution) store.Needs { return rules.LinkNeeds(n) },
		Decide: func(s *store.State) (*store.Changes, error) { return rules.CreateLink(s, n) },
	})
	if err != nil {
		return nil, "", err
	}
	return link.(*perdure.QuestionLink), token, nil
}

// linkHash returns the hash of a link's token. The store contains only this hash, not the token.
func linkHash(token string) perdure.Hash { return sha256.Sum256([]byte(token)) }

// RevokeLinks deletes links to a question on behalf of the actor in ctx: the links of one API key,
// or all links if the parameter `key` is nil. Once RevokeLinks has returned, no vote can use these
// links. Errors: not_found.
func (s *Questions) RevokeLinks(ctx context.Context, org string, question uuid.UUID, key *uuid.UUID) error {
	q, err := s.store.Question(ctx, org, question)
	if err != nil {
		return err
	}
	r := rules.LinkRevocation{Question: question, KeyID: key, Actor: store.ActorOf(ctx)}
	_, err = s.one(ctx, store.Command{
		Name: "revoke links", Lane: store.LaneCommits, Org: org, Execution: q.ExecutionID,
		Needs: func(*perdure.Execution) store.Needs {
			return store.Needs{Questions: []uuid.UUID{question}, LinksOf: &question}
		},
		Decide: func(s *store.State) (*store.Changes, error) { return rules.RevokeLinks(s, r) },
	})
	return err
}

// ErrLinkEnded is the error for a link that is unknown or no longer works.
var ErrLinkEnded = rules.ErrLinkEnded

// Linked is the question that a link leads to, with the key that answers it.
type Linked struct {
	store.Link
	// Question is the question of the link. If the key may answer the question now, Question
	// includes the contents of LOCAL executions, as after Show.
	Question *perdure.Question
	// Open reports whether the key may answer now. It is false if the question is decided, or if
	// the key has voted or may not answer the question.
	Open bool
}

// FollowLink returns the question to which the link with the token leads, and the key that answers
// it. It returns ErrLinkEnded if the link is unknown, has expired or was revoked, if its key was
// revoked, if its org is disabled, or if the question was changed, which deletes its links.
func (s *Questions) FollowLink(ctx context.Context, token string) (*Linked, error) {
	link, err := s.store.Link(ctx, linkHash(token))
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, ErrLinkEnded
	}
	if err != nil {
		return nil, err
	}
	err = s.orgWorks(ctx, link.Org)
	if link.ExpiresAt.Reached(s.store.Now()) || link.Key.RevokedAt != nil || perdure.IsCode(err, perdure.PermissionDenied) {
		return nil, ErrLinkEnded
	}
	if err != nil {
		return nil, err
	}
	q, err := s.store.Question(ctx, link.Org, link.QuestionID)
	if perdure.IsCode(err, perdure.NotFound) {
		return nil, ErrLinkEnded
	}
	if err != nil {
		return nil, err
	}
	l := &Linked{Link: *link, Question: q}
	if q.Status.Final() {
		return l, nil
	}
	voter := Voter{Role: link.Key.Role, KeyID: &link.Key.ID, Name: link.Key.Name, Since: &link.Key.CreatedAt}
	mine, err := s.Answerable(ctx, link.Org, []*perdure.Question{q}, voter)
	if l.Open = len(mine) > 0; !l.Open || err != nil {
		return l, err
	}
	return l, s.Show(ctx, link.Org, q)
}

// LinkToken returns the value of AnswerRequest.Link for a link's token.
func LinkToken(token string) *perdure.Hash {
	hash := linkHash(token)
	return &hash
}
