package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/store"
)

const (
	requestIDHeader = "X-Request-Id"
	// requestIDLimit is the largest number of bytes of an id chosen by a client.
	requestIDLimit = 128
)

// onBehalf returns the context of a request by the caller. It also sets the response header with
// the request id that the audit log records.
func (s *server) onBehalf(ctx context.Context, w http.ResponseWriter, r *http.Request, c caller) context.Context {
	id := requestID(r)
	w.Header().Set(requestIDHeader, id)
	ctx = context.WithValue(ctx, callerKey{}, c)
	return store.ForOrg(store.By(s.shared(ctx, w, r, c.org), c.actor(r, id)), c.org)
}

// shared lets the request compute in its org's share of the processor. The share is held from the
// end of the request body to the start of the response, because both may be transferred slowly.
func (s *server) shared(ctx context.Context, w http.ResponseWriter, r *http.Request, org string) context.Context {
	visit := s.Share.Visit(org)
	if a, ok := w.(*answer); ok {
		a.visit = visit
	}
	if body, ok := r.Body.(*kept); ok && r.ContentLength != 0 {
		body.ended = func() { visit.Enter(ctx) }
	} else {
		visit.Enter(ctx)
	}
	return fair.With(ctx, visit)
}

// requestID returns the client's own id if it is short printable ASCII without spaces, otherwise a
// new one.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	odd := func(c rune) bool { return c <= ' ' || c > '~' }
	if id == "" || len(id) > requestIDLimit || strings.ContainsFunc(id, odd) {
		return "req_" + uuid.NewString()
	}
	return id
}
