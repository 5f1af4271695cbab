package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

func (s *server) sessionRoutes() {
	get(s, "/sessions", "listSessions", "List the sessions of browsers: an admin's key lists those of the org, a client's key its own", s.listSessions)
	on(s, http.MethodDelete, "/sessions/{id}", "revokeSession", "End a session; it stops within 5 s, open streams too", s.revokeSession)
}

// sees reports whether the caller may see a session of its org. A client's key sees its own
// sessions; an admin's key sees all except operators' sessions.
func (c caller) sees(session *perdure.Session) bool {
	switch {
	case c.operator:
		return true
	case c.role == perdure.KeyAdmin:
		return session.KeyID != nil
	}
	return session.Key == c.key
}

type listSessionsInput struct {
	OrgInput
	PageInput
}

func (s *server) listSessions(ctx context.Context, in *listSessionsInput) (*body[list[*perdure.Session]], error) {
	c := callerOf(ctx)
	q := store.SessionQuery{Org: in.Org, Operator: c.operator, Limit: in.Limit + 1}
	if c.role != perdure.KeyAdmin {
		q.Key = &c.key
	}
	if in.Cursor != "" {
		var err error
		if q.After, err = uuid.Parse(in.Cursor); err != nil || len(in.Cursor) != 36 {
			return nil, perdure.FieldErrorf("cursor", "is not a cursor of this list; leave it out to read from the start")
		}
	}
	found, err := s.Engine.Sessions(ctx, q)
	if err != nil {
		return nil, err
	}
	next := ""
	if len(found) > in.Limit {
		found = found[:in.Limit]
		next = found[in.Limit-1].ID.String()
	}
	for _, session := range found {
		session.Current = session.ID == c.sessionID
	}
	return listOf(found, next), nil
}

func (s *server) revokeSession(ctx context.Context, in *IDInput) (*body[*perdure.Session], error) {
	id, err := in.of("session")
	if err != nil {
		return nil, err
	}
	c := callerOf(ctx)
	session, err := s.Engine.EndSession(ctx, in.Org, id, c.sees)
	if err != nil {
		return nil, err
	}
	session.Current = session.ID == c.sessionID
	return &body[*perdure.Session]{session}, nil
}
