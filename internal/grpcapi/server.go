// Package grpcapi serves perdure.Dispatch to workers over gRPC, and the calls
// of single commands for workers in other languages. It decides nothing: it
// checks who calls, converts, keeps messages small and answers with the engine's
// errors.
package grpcapi

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/health"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
)

const (
	// maxMessage is gRPC's own default, which every client keeps to.
	maxMessage = 4 << 20
	// maxHeaders is the most bytes of a call's metadata, maxStreams how many calls
	// one connection may have open, and connectWithin how long it may take to
	// become one. gRPC's own are 16 MiB, any number and two minutes.
	maxHeaders    = 64 << 10
	maxStreams    = 1000
	connectWithin = 10 * time.Second
)

// Backend is what the server serves.
type Backend interface {
	// Dispatch returns what workers of the org speak to. Contents over
	// perdure.InlineLimit are best given with their Blob, filled or not: one
	// that comes filled alone may have to be stored again to be sent.
	Dispatch(org string) perdure.Dispatch
	// Signal stores a signal, under an id of its own if id is "", and reports
	// where the execution stands. Of a value that was uploaded, only the blob's
	// id is set.
	Signal(ctx context.Context, org string, execution uuid.UUID, name string, value perdure.Payload, id string) (signalID string, status perdure.Status, err error)
	// LatestCheckpoint returns the newest checkpoint; nil or not_found before the
	// first. A state over perdure.InlineLimit comes with its Blob.
	LatestCheckpoint(ctx context.Context, org string, execution uuid.UUID) (*perdure.Checkpoint, error)
}

// Options are the settings of a Server. The zero value works.
type Options struct {
	// TLS, if set, secures the connections.
	TLS *tls.Config
	// PayloadLimit is the most bytes of one payload; default
	// perdure.DefaultPayloadLimit.
	PayloadLimit int64
	// Recheck is how often the key of an open stream or poll is looked at
	// again; default 2 s. With what the Authenticator itself remembers it adds
	// up to the time in which a revoked key stops.
	Recheck time.Duration
	// Observer is told of calls; may be nil.
	Observer Observer
	// TracerProvider makes spans of calls that come with a traceparent; nil makes
	// none.
	TracerProvider trace.TracerProvider
	// Health is what the service grpc.health.v1 answers by; default: it serves
	// until it is told to stop.
	Health health.Check
	// Gone, if set, is told of a worker whose last connection over TCP to this
	// server has ended, unless this server stops. It must not block.
	Gone func(org string, worker uuid.UUID)
	// Share divides the processor among the orgs of calls; nil does not.
	Share *fair.Share
}

// Server answers workers.
type Server struct {
	grpc     *grpc.Server
	health   *healthService
	draining chan struct{}
	drain    sync.Once
	lines    *lines
}

// New creates a server; Serve starts it.
func New(backend Backend, auth Authenticator, logger *slog.Logger, o Options) *Server {
	if o.Recheck <= 0 {
		o.Recheck = 2 * time.Second
	}
	if o.PayloadLimit <= 0 {
		o.PayloadLimit = perdure.DefaultPayloadLimit
	}
	s := &Server{draining: make(chan struct{}), health: newHealthService(o.Health)}
	s.lines = &lines{gone: o.Gone, draining: s.draining}
	answers := answers{logger: logger}
	access := access{backend: backend, auth: auth, recheck: o.Recheck, answers: answers, share: o.Share}
	options := append(transport(o.TLS), observed(o.Observer)...)
	options = append(options, traced(o.TracerProvider)...)
	options = append(options, grpc.ChainUnaryInterceptor(access.unary), grpc.ChainStreamInterceptor(access.stream))
	s.grpc = grpc.NewServer(options...)
	healthpb.RegisterHealthServer(s.grpc, s.health)
	perdurev1.RegisterAgentDispatchServer(s.grpc, &agentService{backend: backend, limit: o.PayloadLimit, draining: s.draining, lines: s.lines})
	perdurev1.RegisterWorkerDispatchServer(s.grpc, &workerService{answers: answers, draining: s.draining, lines: s.lines})
	return s
}

func transport(secure *tls.Config) []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage),
		grpc.MaxSendMsgSize(maxMessage),
		grpc.MaxHeaderListSize(maxHeaders),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(connectWithin),
		// A worker that is gone without a word is noticed, so that its polls do
		// not claim for it.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 15 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
	if secure != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(secure)))
	}
	return options
}

// Serve answers on the listener until Shutdown, and then gives nil.
func (s *Server) Serve(listener net.Listener) error { return s.grpc.Serve(s.lines.listen(listener)) }

// Announce makes the health service say that the server does not serve, ahead of
// Shutdown. It may be called more than once.
func (s *Server) Announce() { s.health.stop() }

// Shutdown takes no new calls, answers open polls with nothing, lets the other
// calls finish, and returns when all are done. When ctx is over it cuts off what
// is left, and returns ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.Announce()
	s.drain.Do(func() { close(s.draining) })
	done := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.grpc.Stop()
		<-done
		return ctx.Err()
	}
}
