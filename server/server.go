// Package server wires a whole server: store, engine, log, and the transports.
// A program can embed it; the command line does.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/eventlog"
	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/grpcapi"
	"github.com/perdure/perdure/internal/httpapi"
	"github.com/perdure/perdure/internal/ops"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/web"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// DevOrg is the org of dev mode.
const DevOrg = perdure.DefaultOrg

// Config says how a server runs. Data is needed; the zero value of every other
// field works.
type Config struct {
	// Data is the data directory. It is made with mode 0700 and holds
	// perdure.db, lock, token (mode 0600) and perdure.sock. One process owns it.
	Data string
	// Store names the database to keep everything in, by a URL that begins with
	// postgres://, which other servers may use at the same time. "" keeps it in
	// Data.
	Store string
	// StoreAllowOff names settings of that database that may be off when the server
	// starts: fsync, full_page_writes, synchronous_commit. While one is off, a power
	// failure can lose or damage what was answered.
	StoreAllowOff []string
	// CheckBefore has Open wait until all of an embedded store is checked that was not
	// closed in order. Otherwise it is checked while the server serves, and damage ends
	// the server.
	CheckBefore bool
	// NATS is where servers of one Store tell each other what is new: a URL that
	// begins with nats://, tls://, ws:// or wss://, or several, separated by commas.
	// Without it, and while it cannot be reached, they look every second. NATSCreds
	// and NATSCA are files: credentials, and certificates (PEM) to check it by.
	NATS, NATSCreds, NATSCA string
	// HTTPAddr and GRPCAddr are host:port to listen on; "" does not listen on
	// TCP. The unix socket in Data always listens, for HTTP.
	HTTPAddr, GRPCAddr string
	// TLSCert and TLSKey are files in PEM; with them HTTPAddr and GRPCAddr serve
	// TLS. New content of the files is served from the next second on. The unix
	// socket never serves TLS.
	TLSCert, TLSKey string
	// ClientCA is a file in PEM of authorities; with it workers need a
	// certificate of one of them, beside their key. TLSCert is needed, too.
	ClientCA string
	// Origins are those whose pages may use the API besides the server's own, as
	// scheme://host[:port].
	Origins []string
	// PublicURL is the address under which browsers open the pages, as
	// scheme://host[:port], where a proxy stands in front; "" goes by each request.
	// Under https a browser keeps its half of a session in a Secure cookie.
	PublicURL string
	// StreamsPerKey is how many streams may be open with one key; default 20,000.
	StreamsPerKey int
	// StreamsPerOrg is how many durable streams an org may have; default 10,000.
	StreamsPerOrg int
	// Dev serves with the token in Data, on loopback only, with checks of Host
	// and Origin. Otherwise API keys are needed.
	Dev bool
	// Lease is how long a claim lasts without a renewal; default 15 s.
	Lease time.Duration
	// GoneAfter is how long a worker whose connection was lost has to come back
	// before its agents go to others; default 0.5 s.
	GoneAfter time.Duration
	// PayloadLimit is the most bytes of one payload; default 64 MiB.
	PayloadLimit int64
	// QueueLimits bounds, by queue, how many tasks of one org run at once on it,
	// over all workers; at least 1. A queue that is not named has no bound.
	QueueLimits map[string]int
	// OpsAddr is host:port of a port for operators; "" opens none. It serves
	// /metrics, /healthz and /readyz to whoever reaches it, and /debug/pprof/ on
	// this machine for the token in the file ops-token of Data.
	OpsAddr string
	// DrainDelay is for how long the server continues as before once it has been told
	// to stop and says that it is not ready, so that a load balancer has noticed
	// before connections are refused. 0 is none.
	DrainDelay time.Duration
	// Registerer takes the server's metrics; nil counts nothing, unless there is
	// an OpsAddr, which then has a registry of its own. If it gathers, too, as a
	// *prometheus.Registry does, OpsAddr serves all that is in it.
	Registerer prometheus.Registerer
	// TracerProvider makes spans of requests and writes; nil makes none.
	TracerProvider trace.TracerProvider
	Logger         *slog.Logger
	// Version is the program's.
	Version string
	// Clock is the store's time; default that of the machine (SQLite: see *Clocks* in
	// docs/operations.md) or of the database.
	Clock func() time.Time
}

// Server is a server that owns a data directory.
type Server struct {
	Config
	lock   *lock
	token  string
	store  store.Store
	hints  hints
	engine *engine.Engine
	http   http.Handler
	grpc   *grpcapi.Server
	stop   chan struct{} // closed when streams have to end
	fatal  chan error
	// certificate is HTTP's, nil without TLS.
	certificate *certificate
	// draining is set when no more is to be sent here, before anything stops.
	draining atomic.Bool
	// streams are those that http.Server does not know of.
	streams sync.WaitGroup

	closed sync.Once
	tcp    net.Listener // HTTP
	unix   net.Listener
	rpc    net.Listener
	ops    net.Listener
}

// Open takes the data directory and opens what is in it. The leases of workers
// that lived inside the process that owned it before are returned. The error is
// an *OwnedError if another live process owns the directory.
func Open(ctx context.Context, c Config) (*Server, error) {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, &perdure.Error{Code: perdure.InvalidArgument, Message: "cannot make the data directory " + c.Data, Err: err}
	}
	lock, err := own(c.Data)
	if err != nil {
		return nil, err
	}
	s := &Server{Config: c, lock: lock, stop: make(chan struct{}), fatal: make(chan error, 1)}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) open(ctx context.Context) error {
	var err error
	if s.token, err = newToken(s.Data); err != nil {
		return err
	}
	watch, err := s.observers()
	if err != nil {
		return err
	}
	if s.store, err = openStore(ctx, s.Config, watch.store, s.fail); err != nil {
		return err
	}
	if err := s.assemble(watch); err != nil {
		return err
	}
	if s.shared() {
		return nil // the workers inside other servers live on
	}
	return s.engine.ReturnEmbedded(ctx)
}

// assemble puts what serves together, over the store.
func (s *Server) assemble(watch observers) (err error) {
	if s.hints, err = openHints(s.Config, s.store.Epoch()); err != nil {
		return err
	}
	processor := fair.New(runtime.GOMAXPROCS(0))
	if err := watch.reads(s.store, s.hints.Notifier, processor); err != nil {
		return err
	}
	s.engine = engine.New(engine.Config{
		Store: s.store, Hints: s.hints.Notifier, Logger: s.Logger, Lease: s.Lease, GoneAfter: s.GoneAfter, PayloadLimit: s.PayloadLimit,
		QueueLimits: s.QueueLimits, Observer: watch.engine,
	})
	// Who can read the token's file owns the data directory, in any mode.
	access := access{engine: s.engine, token: s.token}
	public, err := ParsePublicURL(s.PublicURL)
	if err != nil {
		return err
	}
	log := eventlog.New(s.engine.Read(), s.store.Epoch(), s.hints.Notifier)
	s.engine.Grown = func(g engine.Growth) bool { return log.Grown(g.Execution, g.Head, g.Records) }
	s.http, err = httpapi.New(httpapi.Config{
		Engine: s.engine, Log: log, Auth: access, Hosts: s.hosts(public), Origins: s.Origins, PublicURL: public, Logger: s.Logger, Version: s.Version,
		Stop: s.stop, Streams: &s.streams, Observer: watch.http, Health: s.health, TracerProvider: s.TracerProvider,
		StreamsPerKey: s.StreamsPerKey, StreamsPerOrg: s.StreamsPerOrg, Pages: web.Pages(), Share: processor,
	})
	if err != nil {
		return err
	}
	secured, err := s.secured()
	if err != nil {
		return err
	}
	s.grpc = grpcapi.New(backend{s.engine}, workers{access}, s.Logger, grpcapi.Options{PayloadLimit: s.PayloadLimit, TLS: secured, Gone: s.engine.WorkerGone, Observer: watch.grpc, Health: s.health, TracerProvider: s.TracerProvider, Share: processor})
	return nil
}

// secured reads the certificate, and returns what gRPC serves TLS with: nil if it
// does not. Error: invalid_argument.
func (s *Server) secured() (*tls.Config, error) {
	if s.TLSCert == "" {
		if s.ClientCA != "" {
			return nil, perdure.Errorf(perdure.InvalidArgument, "certificates of workers are checked over TLS; give the server's own certificate, too")
		}
		return nil, nil
	}
	var err error
	if s.certificate, err = openCertificate(s.TLSCert, s.TLSKey, "", s.Logger); err != nil {
		return nil, err
	}
	workers, err := openCertificate(s.TLSCert, s.TLSKey, s.ClientCA, s.Logger)
	if err != nil {
		return nil, err
	}
	return workers.forListener("h2"), nil
}

// fail ends the server: the store no longer knows what is written.
func (s *Server) fail(err error) {
	select {
	case s.fatal <- err:
	default:
	}
}

// Dispatch gives what a worker in this process speaks to. Its leases are
// returned by the next owner of the data directory.
func (s *Server) Dispatch(org string) perdure.Dispatch { return s.engine.Dispatch(org, true) }

// ServeContents lets clients of an org read what a worker keeps, though it does not
// run, until the returned function is called.
func (s *Server) ServeContents(org string, worker uuid.UUID, source perdure.ContentSource) (end func()) {
	return s.engine.ServeContents(org, worker, source)
}

// Token is the bearer of dev mode.
func (s *Server) Token() string { return s.token }

// CreateKey creates an API key of an org, and returns its secret.
func (s *Server) CreateKey(ctx context.Context, org, name string, role perdure.KeyRole) (*perdure.APIKey, string, error) {
	return s.engine.CreateKey(ctx, org, name, role)
}

// Run serves until ctx ends, and then stops: no new requests, streams reset so
// that their readers continue elsewhere, and time for what is under way.
func (s *Server) Run(ctx context.Context) error {
	if s.unix == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	front := httpapi.NewServer(s.http, slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug))
	if s.certificate != nil {
		front.TLSConfig = s.certificate.forListener("h2", "http/1.1")
	}
	var group sync.WaitGroup
	failed := make(chan error, 4)
	serve := func(what string, run func() error) {
		group.Go(func() {
			if err := run(); err != nil && !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("%s: %w", what, err)
			}
		})
	}
	if c, ok := s.store.(store.Checking); ok {
		c.CheckBeside()
	}
	serve("sweeps", func() error { return s.engine.Run(ctx) })
	serve("unix socket", func() error { return front.Serve(s.unix) })
	if s.tcp != nil {
		serve("http", func() error {
			if s.certificate != nil {
				return front.ServeTLS(s.tcp, "", "")
			}
			return front.Serve(s.tcp)
		})
	}
	if s.rpc != nil {
		serve("grpc", func() error { return s.grpc.Serve(s.rpc) })
	}
	// The operators' port tells of the end, too.
	last, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if s.ops != nil {
		token, err := ops.OpenToken(s.Data)
		if err != nil {
			s.Logger.Error("profiles are given to nobody", "error", err)
		}
		handler := ops.Handler(ops.Config{Gatherer: s.gatherer(), Health: s.health, Logger: s.Logger, Token: token})
		serve("ops", func() error { return ops.Serve(last, s.ops, handler, s.Logger) })
	}
	var err error
	select {
	case <-ctx.Done():
		s.announce(context.Background(), failed)
	case err = <-failed:
	case err = <-s.fatal:
		s.announce(ctx, failed)
	}
	s.shutdown(front)
	cancel()
	end()
	group.Wait()
	return err
}

// announce says that the server is not ready any more, and serves on for a while, or
// until ctx ends.
func (s *Server) announce(ctx context.Context, failed <-chan error) {
	s.draining.Store(true)
	s.grpc.Announce()
	if s.DrainDelay <= 0 {
		return
	}
	select {
	case <-time.After(s.DrainDelay):
	case <-ctx.Done():
	case err := <-failed:
		s.Logger.Error("the server failed while it was stopping", "error", err)
	case err := <-s.fatal:
		s.Logger.Error("the store failed while the server was stopping", "error", err)
	}
}

const stopWithin = 5 * time.Second

func (s *Server) shutdown(front *http.Server) {
	s.draining.Store(true)
	close(s.stop)
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if s.rpc != nil {
		_ = s.grpc.Shutdown(ctx)
	}
	if err := front.Shutdown(ctx); err != nil {
		_ = front.Close()
	}
	s.streams.Wait() // the longest takes is a write that is under way
}

// Close gives the data directory up.
func (s *Server) Close() error {
	var errs []error
	s.closed.Do(func() {
		for _, l := range []net.Listener{s.tcp, s.unix, s.rpc, s.ops} {
			if l != nil {
				_ = l.Close() // Run has closed it already, mostly
			}
		}
		s.hints.close()
		if s.store != nil {
			errs = append(errs, s.store.Close())
		}
		errs = append(errs, s.lock.release())
	})
	return errors.Join(errs...)
}
