package httpapi

import (
	"context"
	"net/http"
	"net/url"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/health"
	"github.com/perdure/perdure/internal/store"
)

type loginInput struct {
	Body struct {
		Key string `json:"key" minLength:"1" doc:"A key's secret, or the token of dev mode."`
	}
}

// loginReply describes the key, and contains the page's half of the session.
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

// accessRoutes registers the operations that need no key.
func (s *server) accessRoutes() {
	open := func(method, path, id, summary string, code int) huma.Operation {
		return huma.Operation{
			Method: method, Path: path, OperationID: id, Summary: summary, Tags: []string{"Access"},
			DefaultStatus: code, MaxBodyBytes: 64 << 10, Security: []map[string][]string{},
			Responses: map[string]*huma.Response{"default": problemResponse},
		}
	}
	huma.Register(s.api, open(http.MethodPost, "/api/login", "login", "Start a session of 12 hours: a cookie, and the half of it that the page keeps", 200), s.login)
	huma.Register(s.api, open(http.MethodPost, "/api/logout", "logout", "End the session, and drop the cookie", 204), s.logout)
	huma.Register(s.api, open(http.MethodGet, "/healthz", "healthz", "Whether the process runs", 200), s.healthz)
	huma.Register(s.api, open(http.MethodGet, "/readyz", "readyz", "Whether it can serve: the store answers", 200), s.readyz)
}

func (s *server) login(ctx context.Context, in *loginInput) (*cookieOutput[loginReply], error) {
	b := browserOf(ctx)
	session, halves, key, err := s.signIn(ctx, in.Body.Key, b)
	if perdure.IsCode(err, perdure.Unauthenticated) {
		return nil, newProblem(perdure.Unauthenticated, "the key is unknown or revoked")
	}
	if err != nil {
		return nil, s.problemOf(ctx, err)
	}
	return &cookieOutput[loginReply]{
		SetCookie: b.hold(halves.Cookie).String(),
		Body:      loginReply{Org: key.Org, Role: key.Role, SessionID: session.ID, Session: halves.Page, ExpiresAt: session.ExpiresAt},
	}, nil
}

// logout ends the session whose two halves were sent. One half alone ends nothing. The browser
// drops the cookie in any case.
func (s *server) logout(ctx context.Context, _ *struct{}) (*clearOutput, error) {
	b := browserOf(ctx)
	if err := s.signOut(ctx, b); err != nil {
		return nil, s.problemOf(ctx, err)
	}
	return &clearOutput{SetCookie: b.drop().String()}, nil
}

func (s *server) signOut(ctx context.Context, b browser) error {
	session, err := s.Engine.Session(ctx, b.halves.cookie, b.halves.page)
	if perdure.IsCode(err, perdure.Unauthenticated) {
		return nil // the proof is not valid
	}
	if err != nil {
		return err
	}
	ctx = store.By(ctx, b.actor(session.KeyName, session.KeyID))
	_, err = s.Engine.EndSession(ctx, session.Org, session.ID, func(*perdure.Session) bool { return true })
	if perdure.IsCode(err, perdure.NotFound) {
		return nil // ended in the meantime
	}
	return err
}

type healthBody struct {
	Status   string          `json:"status" doc:"ok, or ready."`
	Degraded []health.Reason `json:"degraded,omitempty" doc:"What does not work as well as it should."`
	Notes    []health.Reason `json:"notes,omitempty" doc:"What an operator may want to know, as that the store is unchecked."`
}

func (s *server) healthz(context.Context, *struct{}) (*body[healthBody], error) {
	return &body[healthBody]{healthBody{Status: "ok"}}, nil
}

// readyz lists the failed checks in the problem's errors.
func (s *server) readyz(ctx context.Context, _ *struct{}) (*body[healthBody], error) {
	report := s.Health(ctx)
	if report.Ready() {
		return &body[healthBody]{healthBody{Status: "ready", Degraded: report.Degraded, Notes: report.Notes}}, nil
	}
	p := newProblem(perdure.Unavailable, report.Unready[0].Detail)
	for _, r := range report.Unready {
		p.Errors = append(p.Errors, perdure.FieldError{Location: r.Check, Message: r.Detail})
	}
	return nil, p
}

// tokenLogin signs in with the token in the address that dev mode prints. The page takes its half
// of the session from the fragment, which browsers send to no server, and removes it from the
// address.
func (s *server) tokenLogin(w http.ResponseWriter, r *http.Request) {
	b := s.browserIn(w, r)
	_, halves, key, err := s.signIn(r.Context(), r.URL.Query().Get("token"), b)
	if perdure.IsCode(err, perdure.Unauthenticated) {
		newProblem(perdure.Unauthenticated, "the token in the address is not this server's; use the address that it printed at its start").write(w)
		return
	}
	if err != nil {
		s.problemOf(r.Context(), err).write(w)
		return
	}
	http.SetCookie(w, b.hold(halves.Cookie))
	w.Header().Set("Cache-Control", "no-store")
	fragment := url.Values{"session": {halves.Page}, "org": {key.Org}}.Encode()
	http.Redirect(w, r, s.firstPage()+"#"+fragment, http.StatusSeeOther)
}
