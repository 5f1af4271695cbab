package rest

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/store"
)

func (s *server) sessionRoutes() {
	g := operation.Group{API: s.API, Access: front.Client, Tag: "Sessions"}
	operation.Get(g, "/sessions", "listSessions", "List the sessions of browsers: an admin's key lists those of the org, a client's key its own", s.listSessions)
	operation.On(g, http.MethodDelete, "/sessions/{id}", "revokeSession", "End a session; it stops within 5 s, open streams too", s.revokeSession)
}

// sees reports whether a caller may see a session of the caller's org. A client's key sees only its
// own sessions. An admin's key sees all sessions except those of operators. An operator sees all
// sessions.
func sees(c front.Caller, session *perdure.Session) bool {
	switch {
	case c.Operator:
		return true
	case c.Role == perdure.KeyAdmin:
		return session.KeyID != nil
	}
	return session.Key == c.Key
}

type listSessionsInput struct {
	operation.OrgInput
	operation.PageInput
}

func (s *server) listSessions(ctx context.Context, in *listSessionsInput) (*operation.Body[operation.List[*perdure.Session]], error) {
	c := front.CallerOf(ctx)
	q := store.SessionQuery{Org: in.Org, Operator: c.Operator, Limit: in.Limit + 1}
	if c.Role != perdure.KeyAdmin {
		q.Key = &c.Key
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
		session.Current = session.ID == c.SessionID
	}
	return operation.ListOf(found, next), nil
}

func (s *server) revokeSession(ctx context.Context, in *operation.IDInput) (*operation.Body[*perdure.Session], error) {
	id, err := in.Of("session")
	if err != nil {
		return nil, err
	}
	c := front.CallerOf(ctx)
	session, err := s.Engine.EndSession(ctx, in.Org, id, func(session *perdure.Session) bool { return sees(c, session) })
	if err != nil {
		return nil, err
	}
	session.Current = session.ID == c.SessionID
	return operation.BodyOf(session), nil
}
