package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/health"
)

const (
	cookieName = "perdure"
	cookieLife = 12 * time.Hour
)

func (s *server) cookie(secret string, life time.Duration, secure bool) *http.Cookie {
	c := &http.Cookie{
		Name: cookieName, Value: secret, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode,
	}
	if life <= 0 {
		c.MaxAge = -1
	}
	return c
}

type loginInput struct {
	Body struct {
		Key string `json:"key" minLength:"1" doc:"A key's secret, or the token of dev mode."`
	}
}

// loginReply says who the key is.
type loginReply struct {
	Org  string          `json:"org"`
	Role perdure.KeyRole `json:"role"`
}

type cookieOutput[T any] struct {
	SetCookie string `header:"Set-Cookie"`
	Body      T
}

type clearOutput struct {
	SetCookie string `header:"Set-Cookie"`
}

// accessRoutes are the operations that need no key.
func (s *server) accessRoutes() {
	open := func(method, path, id, summary string, code int) huma.Operation {
		return huma.Operation{
			Method: method, Path: path, OperationID: id, Summary: summary, Tags: []string{"Access"},
			DefaultStatus: code, MaxBodyBytes: 64 << 10, Security: []map[string][]string{},
			Responses: map[string]*huma.Response{"default": problemResponse},
		}
	}
	huma.Register(s.api, open(http.MethodPost, "/api/login", "login", "Get a cookie that counts as the key for 12 hours", 200), s.login)
	huma.Register(s.api, open(http.MethodPost, "/api/logout", "logout", "Drop the cookie", 204), s.logout)
	huma.Register(s.api, open(http.MethodGet, "/healthz", "healthz", "Whether the process runs", 200), s.healthz)
	huma.Register(s.api, open(http.MethodGet, "/readyz", "readyz", "Whether it can serve: the store answers", 200), s.readyz)
}

func (s *server) login(ctx context.Context, in *loginInput) (*cookieOutput[loginReply], error) {
	key, err := s.Auth.Authenticate(ctx, in.Body.Key)
	if perdure.IsCode(err, perdure.Unauthenticated) {
		return nil, newProblem(perdure.Unauthenticated, "the key is unknown or revoked")
	}
	if err != nil {
		return nil, s.problemOf(ctx, err)
	}
	return &cookieOutput[loginReply]{
		SetCookie: s.cookie(in.Body.Key, cookieLife, isSecure(ctx)).String(), Body: loginReply{key.Org, key.Role},
	}, nil
}

func (s *server) logout(ctx context.Context, _ *struct{}) (*clearOutput, error) {
	return &clearOutput{SetCookie: s.cookie("", 0, isSecure(ctx)).String()}, nil
}

type healthBody struct {
	Status   string          `json:"status" doc:"ok, or ready."`
	Degraded []health.Reason `json:"degraded,omitempty" doc:"What does not work as well as it should."`
}

func (s *server) healthz(context.Context, *struct{}) (*body[healthBody], error) {
	return &body[healthBody]{healthBody{Status: "ok"}}, nil
}

// readyz names what is wrong in the problem's errors.
func (s *server) readyz(ctx context.Context, _ *struct{}) (*body[healthBody], error) {
	report := s.Health(ctx)
	if report.Ready() {
		return &body[healthBody]{healthBody{Status: "ready", Degraded: report.Degraded}}, nil
	}
	p := newProblem(perdure.Unavailable, report.Unready[0].Detail)
	for _, r := range report.Unready {
		p.Errors = append(p.Errors, perdure.FieldError{Location: r.Check, Message: r.Detail})
	}
	return nil, p
}

// tokenLogin turns the token in the address that dev mode prints into a cookie,
// so that it does not stay in the address bar.
func (s *server) tokenLogin(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Query().Get("token")
	if _, err := s.Auth.Authenticate(r.Context(), token); err != nil {
		newProblem(perdure.Unauthenticated, "the token in the address is not this server's; use the address that it printed at its start").write(w)
		return
	}
	http.SetCookie(w, s.cookie(token, cookieLife, r.TLS != nil))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
