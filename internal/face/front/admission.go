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
	// requestIDLimit is the maximum length of a request id that a client has chosen, in bytes.
	requestIDLimit = 128
)

// onBehalf returns a context with the caller of the request, the caller's org, and the identity
// that the audit log records. It also sets the response header with the request id, and waits for a
// place in the org's share of the processor. Errors: those of fair.Visit.Enter.
func (f *Front) onBehalf(ctx context.Context, w http.ResponseWriter, r *http.Request, c Caller) (context.Context, error) {
	id := requestID(r)
	w.Header().Set(requestIDHeader, id)
	ctx = context.WithValue(ctx, callerKey{}, c)
	ctx, err := f.shared(ctx, w, r, c.Org)
	return store.ForOrg(store.By(ctx, c.actor(r, id)), c.Org), err
}

// shared waits until the org's share of the processor has a place for the request. The request has
// the place only between the end of its body and the start of its response, because the transfer of
// both may take long. The body is read only when the org may compute, and the cost of reading is
// charged to the org.
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

// requestID returns the request id that the client has sent, if it is short printable ASCII without
// spaces. Otherwise it returns a new id.
func requestID(r *http.Request) string {
	id := r.Header.Get(requestIDHeader)
	odd := func(c rune) bool { return c <= ' ' || c > '~' }
	if id == "" || len(id) > requestIDLimit || strings.ContainsFunc(id, odd) {
		return "req_" + uuid.NewString()
	}
	return id
}
