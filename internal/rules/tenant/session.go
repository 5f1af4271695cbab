package tenant

import (
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// StartSession stores a new session of an API key. The command's result is the session's
// row. Error: unauthenticated, if the key was revoked.
func StartSession(s *store.State, by Change, session perdure.Session) (*store.Changes, error) {
	if session.KeyID != nil && (s.Key == nil || s.Key.RevokedAt != nil) {
		return nil, perdure.Errorf(perdure.Unauthenticated, "the key is unknown or revoked")
	}
	session.CreatedAt, session.ExpiresAt = s.Now, s.Now.Add(perdure.SessionLife)
	row := session
	return &store.Changes{Session: &row, Audit: by.session(s.Now, nil, &row), Answer: &rules.Decision{Value: &session}}, nil
}

// EndSession ends a session. The command's result is the session's row. Error: not_found,
// also if the function `visible` reports that the caller may not see the session.
func EndSession(s *store.State, by Change, id uuid.UUID, visible func(*perdure.Session) bool) (*store.Changes, error) {
	if s.Session == nil || s.Session.ExpiresAt.Reached(s.Now) || !visible(s.Session) {
		return nil, perdure.Errorf(perdure.NotFound, "there is no session %s", id)
	}
	return &store.Changes{EndSession: &id, Audit: by.session(s.Now, s.Session, nil), Answer: &rules.Decision{Value: s.Session}}, nil
}

// SweepSessions deletes at most `most` expired sessions.
func SweepSessions(most int) (*store.Changes, error) {
	return &store.Changes{SweepSessions: most, Answer: &rules.Decision{}}, nil
}
