package httpapi

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
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

// BodyLimit is the largest size of a request body, in bytes.
const BodyLimit = 8 << 20

// Authenticator finds keys. A key without an id is not stored.
type Authenticator interface {
	// KeyOf returns the key whose secret has that SHA-256. Errors: unauthenticated;
	// permission_denied if the key's org is disabled.
	KeyOf(ctx context.Context, secret perdure.Hash) (*perdure.APIKey, error)
}

// Config configures the API. Engine and Log are required; the zero value of every other field
// works.
type Config struct {
	Engine *engine.Engine
	Log    *eventlog.Log
	// Auth defaults to the engine's stored keys.
	Auth Authenticator
	// Hosts are the accepted values of the Host header, with or without port. In dev mode they
	// protect against names that an attacker points at loopback. Empty accepts any host.
	Hosts []string
	// Origins are trusted origins besides the one that the Host header names. Their pages may read
	// responses (CORS).
	Origins []string
	// PublicURL is the address under which browsers open the pages if a proxy stands in front. It
	// has only a scheme and a host. If nil, each request's Host and TLS are used.
	PublicURL *url.URL
	Logger    *slog.Logger
	// Observer receives metrics of requests and readers; may be nil.
	Observer Observer
	// TracerProvider creates spans of requests; nil creates none.
	TracerProvider trace.TracerProvider
	// Health checks whether requests can be served. By default it checks that the store answers and
	// that Stop is not closed.
	Health health.Check
	// Version is the program's version, shown in the OpenAPI document.
	Version string
	// Pages are the files of the user interface, including index.html. If nil, the root shows the
	// API's description.
	Pages fs.FS
	// Stop, when closed, resets every open stream, so that clients continue with another server.
	Stop <-chan struct{}
	// Streams, if set, counts the streams that continue after their handlers have returned, which
	// http.Server does not know. Closing Stop ends them.
	Streams *OpenStreams
	// PingEvery is the interval between pings of a stream; default 15 s.
	PingEvery time.Duration
	// WriteTimeout is the time that a stream's reader has for each piece of 64 KiB before its
	// connection is reset; default 30 s.
	WriteTimeout time.Duration
	// BodyTimeout is the time within which a request body must arrive; default one minute. Uploads
	// have one minute for each piece.
	BodyTimeout time.Duration
	// RecheckEvery is the interval at which an open stream's key is checked again; default 2 s. A
	// key is trusted for 2 s without a read of the store, so a revoked key stops within 5 s.
	RecheckEvery time.Duration
	// StreamsPerKey is the largest number of streams, WebSockets and waiting polls that one key may
	// have open; default 20,000.
	StreamsPerKey int
	// StreamsPerOrg is the largest number of durable streams of an org; default 10,000.
	StreamsPerOrg int
	// Share divides the processor among the orgs of requests; nil does not divide it.
	Share *fair.Share
}

// server holds the state that the operations share.
type server struct {
	Config
	api  huma.API
	ai   *openaiapi.API
	mux  *http.ServeMux
	spec []byte // the OpenAPI document
	docs []byte // the page that shows the OpenAPI document
	// streams are the Durable Streams that clients create.
	streams *durablestream.Streams
	readers readers
	tracer  trace.Tracer // nil without a TracerProvider

	watch *watch // watches open streams
}

// New creates the handler of the whole API.
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
		c.Streams = &OpenStreams{}
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

// answers implements the default of Config.Health.
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
