package openai

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/questions"
	"github.com/perdure/perdure/internal/face/front"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/store"
)

// Config configures the API. All fields are required except Stop, Recheck, Read, Voter and the
// fields that are only for WebSockets.
type Config struct {
	Engine *engine.Engine
	Log    *eventlog.Log
	Logger *slog.Logger
	// Stop is closed when the server stops. Open streams are then reset.
	Stop <-chan struct{}
	// PingEvery is the interval at which a stream without new events gets a comment. WriteTimeout
	// is the time within which a stream's client must read each piece of 64 KiB.
	PingEvery, WriteTimeout time.Duration
	// Recheck returns a function that is called about once a second while a stream is open. If the
	// function returns an error, the caller may no longer read, and the stream is reset.
	Recheck func(r *http.Request) func() error
	// Read admits a caller that opens a stream or waits for the end of a response. The function
	// `leave` is called at the end of the stream or wait. If Read is nil, every caller is admitted.
	Read func(r *http.Request) (leave func(), refused *Error)
	// Voter returns the caller of a request as a voter, who may answer questions. If Voter is nil,
	// answers to approval requests are refused.
	Voter func(ctx context.Context) (questions.Voter, error)

	// Admit decides whether a request may open a WebSocket; nil admits every request.
	Admit func(r *http.Request) (Admission, *Error)
	// Subprotocol is the WebSocket subprotocol that the server selects if a client offers it.
	Subprotocol string
	// FrameTimeout is the time within which a frame of a WebSocket must arrive after its first
	// bytes; 0 means one minute.
	FrameTimeout time.Duration
	// After, if set, replaces time.After for the timers of WebSockets.
	After func(time.Duration) <-chan time.Time
}

// API serves /v1/responses, /v1/conversations and /v1/models to callers that are already
// authenticated.
type API struct {
	Config
	mux front.Mux
}

// reader is the part of the store that the API reads.
type reader interface {
	store.ExecutionReader
	store.ResponseReader
	store.CatalogReader
}

// stored returns the store that the API reads.
func (a *API) stored() reader { return a.Engine.Store }

const (
	responsesPath = "/v1/responses"
	modelsPath    = "/v1/models"
)

// Owns reports whether a path belongs to this API.
func Owns(path string) bool {
	for _, own := range []string{responsesPath, conversationsPath, modelsPath} {
		if path == own || strings.HasPrefix(path, own+"/") {
			return true
		}
	}
	return false
}

// New creates the API.
func New(c Config) *API {
	a := &API{Config: c.normal()}
	a.mux.HandleFunc("GET "+responsesPath, a.socket)
	a.mux.HandleFunc("POST "+responsesPath, a.create)
	a.mux.HandleFunc("POST "+responsesPath+"/compact", a.compact)
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

// WithOrg returns a context that contains the org that a request acts on.
func WithOrg(ctx context.Context, org string) context.Context {
	return context.WithValue(ctx, orgKey{}, org)
}

func orgOf(r *http.Request) string {
	org, _ := r.Context().Value(orgKey{}).(string)
	return org
}

// Routes returns the patterns of all routes.
func (a *API) Routes() []string { return a.mux.Patterns() }

// Route returns the pattern that a request matches, without the method; "" if none matches.
func (a *API) Route(r *http.Request) string { return a.mux.Route(r) }

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
