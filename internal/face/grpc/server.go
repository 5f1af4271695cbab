// Package grpcapi serves perdure.Dispatch to workers over gRPC. For workers in other languages it
// also serves simpler calls, which contain one command each. It authenticates callers, converts
// messages, bounds their sizes, and converts errors to gRPC statuses.
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
	// maxMessage is the maximum size of a message in bytes. It is gRPC's default, so every client
	// accepts it.
	maxMessage = 4 << 20
	// maxHeaders is the maximum size of a call's metadata in bytes (gRPC's default: 16 MiB),
	// maxStreams the maximum number of open calls of a connection (gRPC's default: no limit), and
	// connectWithin the maximum time to set up a connection (gRPC's default: two minutes).
	maxHeaders    = 64 << 10
	maxStreams    = 1000
	connectWithin = 10 * time.Second
)

// Backend contains the methods of the engine that the gRPC server calls.
type Backend interface {
	// Dispatch returns the calls that workers of the org may make. It should return contents over
	// perdure.InlineLimit as references (Blob), with or without the bytes. Otherwise the server may
	// have to store such a content in a further blob before it can send it.
	Dispatch(org string) perdure.Dispatch
	// Signal stores a signal and returns the execution's status. If id is "", the signal gets a new
	// id. If the value was uploaded before the call, value.Blob contains only the id of the blob.
	Signal(ctx context.Context, org string, execution uuid.UUID, name string, value perdure.Payload, id string) (signalID string, status perdure.Status, err error)
	// LatestCheckpoint returns the newest checkpoint of an execution. If the execution has no
	// checkpoint yet, LatestCheckpoint returns nil or the error not_found. A state over
	// perdure.InlineLimit has its Blob set.
	LatestCheckpoint(ctx context.Context, org string, execution uuid.UUID) (*perdure.Checkpoint, error)
}

// Options configures a Server. The zero value uses the defaults.
type Options struct {
	// TLS, if set, encrypts the connections.
	TLS *tls.Config
	// PayloadLimit is the maximum size of one payload in bytes; default
	// perdure.DefaultPayloadLimit.
	PayloadLimit int64
	// Recheck is the interval at which the key of an open stream or poll is checked; default 2 s. A
	// revoked key can still be used for this time plus the time for which the Authenticator caches
	// keys.
	Recheck time.Duration
	// Observer observes calls; it may be nil.
	Observer Observer
	// TracerProvider creates spans for calls that contain a traceparent; nil creates none.
	TracerProvider trace.TracerProvider
	// Health is the check behind the service grpc.health.v1. By default the server is healthy until
	// Announce or Shutdown is called.
	Health health.Check
	// Gone, if set, is called when a worker's last TCP connection to this server has ended. It is not
	// called while the server is stopping. It must not block.
	Gone func(org string, worker uuid.UUID)
	// Share divides the processor among the orgs; nil does not divide it.
	Share *fair.Share
}

// Server serves workers over gRPC. [New] creates one.
type Server struct {
	grpc     *grpc.Server
	health   *healthService
	draining chan struct{}
	drain    sync.Once
	lines    *workerConnections
}

// New creates a server. Serve starts it.
func New(backend Backend, auth Authenticator, logger *slog.Logger, o Options) *Server {
	if o.Recheck <= 0 {
		o.Recheck = 2 * time.Second
	}
	if o.PayloadLimit <= 0 {
		o.PayloadLimit = perdure.DefaultPayloadLimit
	}
	s := &Server{draining: make(chan struct{}), health: newHealthService(o.Health)}
	s.lines = &workerConnections{gone: o.Gone, draining: s.draining}
	answers := errorConverter{logger: logger}
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
		// Keepalive pings detect workers that have disappeared without closing the connection. The
		// server then ends the polls of these workers, so that they claim no more work.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: 15 * time.Second, Timeout: 10 * time.Second}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second, PermitWithoutStream: true}),
	}
	if secure != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(secure)))
	}
	return options
}

// Serve accepts connections from the listener until Shutdown is called, and then returns nil.
func (s *Server) Serve(listener net.Listener) error { return s.grpc.Serve(s.lines.listen(listener)) }

// Announce makes the health service report that the server is not serving. It may be called more
// than once, and before Shutdown.
func (s *Server) Announce() { s.health.stop() }

// Shutdown refuses new calls, ends open polls without claims, and waits until all other open calls
// have finished. When ctx ends first, it closes the remaining connections and returns ctx's error.
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
