package openaiapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/eventlog"
)

// Config says how the API runs. All fields are needed, but Recheck, Stop and those of
// WebSockets.
type Config struct {
	Engine *engine.Engine
	Log    *eventlog.Log
	Logger *slog.Logger
	// Stop, once closed, resets open streams.
	Stop <-chan struct{}
	// PingEvery is the pause between comments on a stream that is silent,
	// WriteTimeout how long its reader may take for a piece of 64 KiB.
	PingEvery, WriteTimeout time.Duration
	// Recheck tells, about once a second of an open stream, whether its caller
	// still may read. An error resets the stream.
	Recheck func(r *http.Request) func() error
	// Read lets a caller open a stream, or wait for a response's end; leave ends that.
	// Nil lets all.
	Read func(r *http.Request) (leave func(), refused *Error)

	// Admit lets a request open a WebSocket; default: every one.
	Admit func(r *http.Request) (Admission, *Error)
	// Subprotocol is the one that is selected where a WebSocket's request offers it.
	Subprotocol string
	// FrameTimeout is how long a frame of a WebSocket may take to come, from its
	// first bytes on; default one minute.
	FrameTimeout time.Duration
	// After is the clock of WebSockets; default time.After.
	After func(time.Duration) <-chan time.Time
}

// API serves /v1/responses, /v1/conversations and /v1/models to callers that are known already.
type API struct {
	Config
	mux *http.ServeMux
}

const (
	responsesPath = "/v1/responses"
	modelsPath    = "/v1/models"
)

// Owns reports whether a path is this API's.
func Owns(path string) bool {
	for _, own := range []string{responsesPath, conversationsPath, modelsPath} {
		if path == own || strings.HasPrefix(path, own+"/") {
			return true
		}
	}
	return false
}

// New makes the API.
func New(c Config) *API {
	a := &API{Config: c.normal(), mux: http.NewServeMux()}
	a.mux.HandleFunc("GET "+responsesPath, a.socket)
	a.mux.HandleFunc("POST "+responsesPath, a.create)
	a.mux.HandleFunc("GET "+responsesPath+"/{id}", a.retrieve)
	a.mux.HandleFunc("DELETE "+responsesPath+"/{id}", a.delete)
	a.mux.HandleFunc("POST "+responsesPath+"/{id}/cancel", a.cancel)
	a.mux.HandleFunc("GET "+responsesPath+"/{id}/input_items", a.inputItems)
	a.handleConversations()
	a.mux.HandleFunc("GET "+modelsPath, a.models)
	a.mux.HandleFunc("GET "+modelsPath+"/{id...}", a.model)
	return a
}

func (c Config) normal() Config {
	if c.Admit == nil {
		c.Admit = func(r *http.Request) (Admission, *Error) { return Admission{Context: r.Context()}, nil }
	}
	if c.FrameTimeout <= 0 {
		c.FrameTimeout = time.Minute
	}
	if c.After == nil {
		c.After = time.After
	}
	return c
}

type orgKey struct{}

// WithOrg says whose request it is.
func WithOrg(ctx context.Context, org string) context.Context {
	return context.WithValue(ctx, orgKey{}, org)
}

func orgOf(r *http.Request) string {
	org, _ := r.Context().Value(orgKey{}).(string)
	return org
}

// Route is the pattern that a request matches, without the method; "" if none.
func (a *API) Route(r *http.Request) string {
	_, pattern := a.mux.Handler(r)
	return WithoutMethod(pattern)
}

// WithoutMethod is the path of a pattern of a ServeMux.
func WithoutMethod(pattern string) string {
	if _, path, found := strings.Cut(pattern, " "); found {
		return path
	}
	return pattern
}

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if w.Header().Get("X-Request-Id") == "" {
		w.Header().Set("X-Request-Id", "req_"+uuid.NewString())
	}
	if _, pattern := a.mux.Handler(r); pattern == "" {
		notFound("There is no %s %s here.", r.Method, r.URL.Path).WriteTo(w)
		return
	}
	a.mux.ServeHTTP(w, r)
}
