package httpapi

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/durablestream"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/health"
	"github.com/perdure/perdure/internal/openaiapi"
	"go.opentelemetry.io/otel/trace"
)

// BodyLimit is the most bytes of a request's body.
const BodyLimit = 8 << 20

// Authenticator finds keys. One without an id is none that is stored.
type Authenticator interface {
	// KeyOf returns the key whose secret has that SHA-256. Errors: unauthenticated;
	// permission_denied if the key's org is disabled.
	KeyOf(ctx context.Context, secret perdure.Hash) (*perdure.APIKey, error)
}

// Config says how the API runs. Engine and Log are needed; the zero value of
// every other field works.
type Config struct {
	Engine *engine.Engine
	Log    *eventlog.Log
	// Auth defaults to the engine's stored keys.
	Auth Authenticator
	// Hosts are the values of the Host header, with or without port, that are
	// served: the defence of dev mode against names that an attacker points at
	// loopback. Empty serves any.
	Hosts []string
	// Origins are taken for our own besides the one that the Host names: their
	// pages may read the answers (CORS).
	Origins []string
	// PublicURL is the address under which browsers open the pages, where a proxy
	// stands in front; nil goes by each request's Host and TLS. It has a scheme and
	// a host alone.
	PublicURL *url.URL
	Logger    *slog.Logger
	// Observer is told of requests and readers; may be nil.
	Observer Observer
	// TracerProvider makes spans of requests; nil makes none.
	TracerProvider trace.TracerProvider
	// Health looks whether requests can be served; default: whether the store
	// answers, and Stop is not closed.
	Health health.Check
	// Version is the program's, shown in the OpenAPI document.
	Version string
	// Pages are the files of the user interface, index.html among them; nil shows
	// the API's description at the root instead.
	Pages fs.FS
	// Stop, once closed, resets every open stream, so that clients continue with
	// another server.
	Stop <-chan struct{}
	// Streams, if set, counts the streams that continue after their handlers have
	// returned: http.Server knows nothing of them. They end by Stop.
	Streams *sync.WaitGroup
	// PingEvery is the pause between pings of a stream; default 15 s.
	PingEvery time.Duration
	// WriteTimeout is how long a stream's reader may take for a piece of 64 KiB
	// before its connection is reset; default 30 s.
	WriteTimeout time.Duration
	// BodyTimeout is how long a request's body may take to come; default one
	// minute. Uploads have that long for each piece.
	BodyTimeout time.Duration
	// RecheckEvery is how often an open stream's key is looked at again;
	// default 2 s. With the time that a key is believed without a look at the
	// store, 2 s, a revoked one stops within 5 s.
	RecheckEvery time.Duration
	// StreamsPerKey is how many streams, WebSockets and waiting polls may be open
	// with one key; default 20,000.
	StreamsPerKey int
	// StreamsPerOrg is how many durable streams an org may have; default 10,000.
	StreamsPerOrg int
	// Share divides the processor among the orgs of requests; nil does not.
	Share *fair.Share
}

// server holds what the operations share.
type server struct {
	Config
	api  huma.API
	ai   *openaiapi.API
	mux  *http.ServeMux
	spec []byte // the OpenAPI document
	docs []byte // the page that shows it
	// streams are the general ones.
	streams *durablestream.Streams
	readers readers
	tracer  trace.Tracer // nil without a provider

	watch *watch // of open streams
}

// New makes the handler of the whole API.
func New(c Config) (http.Handler, error) {
	s := &server{Config: c.normal(), mux: http.NewServeMux(), readers: readers{open: map[perdure.Hash]int{}}, streams: durablestream.New(c.Engine.Store, c.Engine.Hints, c.StreamsPerOrg)}
	s.watch = &watch{s: s}
	if c.TracerProvider != nil {
		s.tracer = c.TracerProvider.Tracer("github.com/perdure/perdure/internal/httpapi")
	}
	s.api = humago.New(s.mux, humaConfig(c.Version))
	s.openAI()
	s.routes()
	if err := s.document(); err != nil {
		return nil, err
	}
	if err := s.pages(); err != nil {
		return nil, err
	}
	return s.front(), nil
}

func (c Config) normal() Config {
	if c.Auth == nil {
		c.Auth = c.Engine
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	if c.Health == nil {
		c.Health = c.answers
	}
	if c.Streams == nil {
		c.Streams = &sync.WaitGroup{}
	}
	if c.PingEvery <= 0 {
		c.PingEvery = 15 * time.Second
	}
	if c.WriteTimeout <= 0 {
		c.WriteTimeout = 30 * time.Second
	}
	if c.BodyTimeout <= 0 {
		c.BodyTimeout = time.Minute
	}
	if c.RecheckEvery <= 0 {
		c.RecheckEvery = 2 * time.Second
	}
	if c.StreamsPerKey <= 0 {
		c.StreamsPerKey = 20_000
	}
	return c
}

// answers is the default of Health.
func (c Config) answers(ctx context.Context) (r health.Report) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if _, err := c.Engine.Read().AnyKey(ctx); err != nil {
		c.Logger.WarnContext(ctx, "the store does not answer", "error", err)
		r.Unready = append(r.Unready, health.Reason{Check: "store", Detail: "the store does not answer"})
	}
	select {
	case <-c.Stop:
		r.Unready = append(r.Unready, health.Reason{Check: "stopping", Detail: "the server is stopping"})
	default:
	}
	return r
}

// routes registers every operation.
func (s *server) routes() {
	s.definitionRoutes()
	s.executionRoutes()
	s.partRoutes()
	s.logRoutes()
	s.contentRoutes()
	s.keyRoutes()
	s.sessionRoutes()
	s.orgRoutes()
	s.auditRoutes()
	s.retentionRoutes()
	s.accessRoutes()
}
