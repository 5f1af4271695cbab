package front

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/fair"
	"go.opentelemetry.io/otel/trace"
)

// BodyLimit is the largest size of a request body, in bytes.
const BodyLimit = 8 << 20

// Authenticator finds the API key that belongs to a secret. It may return a key that is not
// stored; such a key has the zero id.
type Authenticator interface {
	// KeyOf returns the key whose secret has the given SHA-256 hash. Errors: unauthenticated;
	// permission_denied if the key's org is disabled.
	KeyOf(ctx context.Context, secret perdure.Hash) (*perdure.APIKey, error)
}

// Config configures the front. The packages that serve parts of the API use the same Config. Engine
// is required. All other fields may be zero.
type Config struct {
	Engine *engine.Engine
	// Auth finds API keys. By default it finds the keys that the engine has stored.
	Auth Authenticator
	// Hosts are the accepted values of the Host header, with or without port. They protect a server
	// in dev mode against DNS rebinding, in which the host name of another site resolves to the
	// loopback address. If Hosts is empty, every host is accepted.
	Hosts []string
	// Origins are trusted origins in addition to the server's own. Their pages may read responses
	// (CORS).
	Origins []string
	// PublicURL is the address at which browsers open the pages through a proxy. It has only a
	// scheme and a host. Without a proxy it is nil, and the address of each request is used.
	PublicURL *url.URL
	// Address returns the address at which the server listens for HTTP, or nil if it does not listen.
	// The function itself may be nil.
	Address func() *url.URL
	Logger  *slog.Logger
	// Observer receives metrics of requests and of the readers of streams; it may be nil.
	Observer Observer
	// TracerProvider creates spans of requests; nil creates none.
	TracerProvider trace.TracerProvider
	// Stop is closed when the server stops. The front then resets the connection of every open
	// stream, so that clients continue on another server.
	Stop <-chan struct{}
	// PingEvery is the interval between pings of a stream; default 15 s.
	PingEvery time.Duration
	// WriteTimeout is the time within which a stream's client must read each piece of 64 KiB.
	// Afterwards the front resets the connection. Default 30 s.
	WriteTimeout time.Duration
	// BodyTimeout is the time within which a whole request body must arrive; default one minute. An
	// upload has one minute for each piece of its body.
	BodyTimeout time.Duration
	// RecheckEvery is the interval at which an open stream's key is checked again; default 2 s.
	// Keys are cached for 2 s, so a stream ends within 5 s after its key was revoked.
	RecheckEvery time.Duration
	// StreamsPerKey is the largest number of streams, WebSockets and waiting polls that one key may
	// have open; default 20,000.
	StreamsPerKey int
	// Share divides the processor among the orgs; nil does not divide it.
	Share *fair.Share
}

func (c Config) normal() Config {
	if c.Auth == nil {
		c.Auth = c.Engine
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Observer == nil {
		c.Observer = noObserver{}
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
