package front

import (
	"context"
	"net/http"
	"strings"
	"time"

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
// the request id that the audit log records. Errors: as fair.Visit.Enter.
func (f *Front) onBehalf(ctx context.Context, w http.ResponseWriter, r *http.Request, c Caller) (context.Context, error) {
	id := requestID(r)
	w.Header().Set(requestIDHeader, id)
	ctx = context.WithValue(ctx, callerKey{}, c)
	ctx, err := f.shared(ctx, w, r, c.Org)
	return store.ForOrg(store.By(ctx, c.actor(r, id)), c.Org), err
}

// shared lets the request compute in its org's share of the processor. The share is held from the
// end of the request body to the start of the response, because both may be transferred slowly. A
// body is read only when the org may compute, and its bytes are charged.
func (f *Front) shared(ctx context.Context, w http.ResponseWriter, r *http.Request, org string) (context.Context, error) {
	visit := f.Share.Visit(org)
	if a, ok := w.(*answer); ok {
		a.visit = visit
	}
	ctx = fair.With(ctx, visit)
	body, ok := r.Body.(*requestBody)
	if !ok || r.ContentLength == 0 {
		return ctx, visit.Enter(ctx)
	}
	body.ended = func() error {
		visit.Charge(time.Duration(body.bytes) * fair.PerByte)
		return visit.Return(ctx)
	}
	return ctx, visit.Admit(ctx)
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
