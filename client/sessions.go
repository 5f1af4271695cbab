package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Sessions returns the active browser sessions, oldest first. An API key of the role admin receives all
// sessions of the org, a key of the role client only its own sessions.
func (c *Client) Sessions(ctx context.Context) iter.Seq2[*perdure.Session, error] {
	return pages(func(o PageOptions) (Page[*perdure.Session], error) {
		return page[*perdure.Session](ctx, c, o.query(), "sessions")
	})
}

// RevokeSession ends a browser session. Within 5 s, the server refuses requests of the session and
// ends the open streams of the session. Errors: not_found, also for a session that the API key may
// not see.
func (c *Client) RevokeSession(ctx context.Context, id uuid.UUID) (*perdure.Session, error) {
	var session perdure.Session
	if err := c.call(ctx, request{method: http.MethodDelete, path: []string{"sessions", id.String()}}, &session); err != nil {
		return nil, err
	}
	return &session, nil
}
