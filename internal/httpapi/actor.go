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
	// requestIDLimit is the most characters of an id that a client chooses.
	requestIDLimit = 128
)

// onBehalf makes the context of a request of the caller's, and tells the client
// the id by which the audit log knows it.
func (s *server) onBehalf(ctx context.Context, w http.ResponseWriter, r *http.Request, c caller) context.Context {
	id := requestID(r)
	w.Header().Set(requestIDHeader, id)
	ctx = context.WithValue(ctx, callerKey{}, c)
	return store.ForOrg(store.By(s.shared(ctx, w, r, c.org), c.actor(r, id)), c.org)
}

// shared has the request compute in its org's share of the processor: from the end of
// its body, which may come slowly, to the begin of its answer, which may be read slowly.
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

// requestID is the client's own, if it is one that a log can bear, else a new
// one.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	odd := func(c rune) bool { return c <= ' ' || c > '~' }
	if id == "" || len(id) > requestIDLimit || strings.ContainsFunc(id, odd) {
		return "req_" + uuid.NewString()
	}
	return id
}
