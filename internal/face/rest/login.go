package rest

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/face/front"
	"github.com/perdure/perdure/internal/face/operation"
	"github.com/perdure/perdure/internal/face/problem"
	"github.com/perdure/perdure/internal/health"
)

type loginInput struct {
	Body struct {
		Key string `json:"key" minLength:"1" doc:"A key's secret, or the token of dev mode."`
	}
}

// loginReply is the body of the response to a sign-in. It describes the key, and contains the secret
// that the web page sends in a header. The session has a second secret, which is in the cookie.
type loginReply struct {
	Org       string          `json:"org"`
	Role      perdure.KeyRole `json:"role"`
	SessionID uuid.UUID       `json:"sessionId"`
	Session   string          `json:"session" doc:"The page's half of the session. It goes with each request in the header Perdure-Session, beside the cookie."`
	ExpiresAt perdure.Time    `json:"expiresAt"`
}

type cookieOutput[T any] struct {
	SetCookie string `header:"Set-Cookie"`
	Body      T
}

type clearOutput struct {
	SetCookie string `header:"Set-Cookie"`
}

// accessRoutes registers the operations that need no key, such as sign-in and health.
func (s *server) accessRoutes() {
	open(s, http.MethodPost, "/api/login", "login", "Start a session of 12 hours: a cookie, and the half of it that the page keeps", 200, s.login)
	open(s, http.MethodPost, "/api/logout", "logout", "End the session, and drop the cookie", 204, s.logout)
	open(s, http.MethodGet, "/healthz", "healthz", "Whether the process runs", 200, s.healthz)
	open(s, http.MethodGet, "/readyz", "readyz", "Whether it can serve: the store answers", 200, s.readyz)
}

// open registers an operation that needs no key. Its path must be in the list of public routes in
// package front.
func open[I, O any](s *server, method, path, id, summary string, code int, do func(context.Context, *I) (*O, error)) {
	op := huma.Operation{
		Method: method, Path: path, OperationID: id, Summary: summary, Tags: []string{"Access"},
		DefaultStatus: code, MaxBodyBytes: 64 << 10, Security: []map[string][]string{},
		Responses: map[string]*huma.Response{"default": operation.ProblemResponse},
	}
	operation.Register(s.API, op, front.Route{}, do)
}

func (s *server) login(ctx context.Context, in *loginInput) (*cookieOutput[loginReply], error) {
	b := front.BrowserOf(ctx)
	session, halves, key, err := s.SignIn(ctx, in.Body.Key, b)
	if perdure.IsCode(err, perdure.Unauthenticated) {
		return nil, problem.New(perdure.Unauthenticated, "the key is unknown or revoked")
	}
	if err != nil {
		return nil, err
	}
	return &cookieOutput[loginReply]{
		SetCookie: b.Hold(halves.Cookie).String(),
		Body:      loginReply{Org: key.Org, Role: key.Role, SessionID: session.ID, Session: halves.Page, ExpiresAt: session.ExpiresAt},
	}, nil
}

// logout ends the session whose two secrets (one in a header, one in the cookie) the browser has
// sent. If one secret is missing, the session continues. In both cases, the browser deletes its
// cookie.
func (s *server) logout(ctx context.Context, _ *struct{}) (*clearOutput, error) {
	b := front.BrowserOf(ctx)
	if err := s.SignOut(ctx, b); err != nil {
		return nil, err
	}
	return &clearOutput{SetCookie: b.Drop().String()}, nil
}

type healthBody struct {
	Status   string          `json:"status" doc:"ok, or ready."`
	Degraded []health.Reason `json:"degraded,omitempty" doc:"What does not work as well as it should."`
	Notes    []health.Reason `json:"notes,omitempty" doc:"What an operator may want to know, as that the store is unchecked."`
}

func (s *server) healthz(context.Context, *struct{}) (*operation.Body[healthBody], error) {
	return operation.BodyOf(healthBody{Status: "ok"}), nil
}

// readyz reports whether the server is ready. If it is not, the problem lists the checks that
// failed.
func (s *server) readyz(ctx context.Context, _ *struct{}) (*operation.Body[healthBody], error) {
	report := s.Health(ctx)
	if report.Ready() {
		return operation.BodyOf(healthBody{Status: "ready", Degraded: report.Degraded, Notes: report.Notes}), nil
	}
	p := problem.New(perdure.Unavailable, report.Unready[0].Detail)
	for _, r := range report.Unready {
		p.Errors = append(p.Errors, perdure.FieldError{Location: r.Check, Message: r.Detail})
	}
	return nil, p
}
