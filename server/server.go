// Package server assembles a complete server: store, engine, log, and transports. A program can
// embed it, as the command line does.
package server

import (
	"cmp"
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
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/face"
	"github.com/perdure/perdure/internal/face/front"
	grpcapi "github.com/perdure/perdure/internal/face/grpc"
	"github.com/perdure/perdure/internal/face/sse"
	"github.com/perdure/perdure/internal/fair"
	eventlog "github.com/perdure/perdure/internal/log"
	"github.com/perdure/perdure/internal/ops"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/webhook"
	"github.com/perdure/perdure/web"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// DevOrg is the org of dev mode, and the org of calls that are made with the token of the data
// directory and name no org.
const DevOrg = perdure.DefaultOrg

// DefaultOrgsCPU is the default of Config.OrgsCPU.
const DefaultOrgsCPU = 40

// Config configures a server. Data is required; all other fields have a working zero value.
type Config struct {
	// Data is the data directory. The server creates it with mode 0700. It contains perdure.db,
	// lock, token (mode 0600) and perdure.sock. Only one process at a time owns the directory.
	Data string
	// Store is the URL of a database that begins with postgres://. Other servers may use it at the
	// same time. "" selects an embedded store in Data.
	Store string
	// StoreAllowOff names settings of the database Store that may be off when the server starts:
	// fsync, full_page_writes, synchronous_commit. While one of them is off, a power failure can
	// lose or damage acknowledged writes.
	StoreAllowOff []string
	// CheckBefore makes Open wait for the complete check of an embedded store that was not closed
	// cleanly. Otherwise the check runs while the server serves, and the server ends if the check
	// finds damage.
	CheckBefore bool
	// StorePlain turns off the optimizations of the store, which then is slower but returns the
	// same results: see *Without optimizations* in docs/operations.md. Its value may differ from
	// one start to the next, and between the servers of one Store.
	StorePlain bool
	// NATS connects the servers of one Store, which notify each other of new data. It is one URL
	// that begins with nats://, tls://, ws:// or wss://, or several separated by commas. Without
	// NATS, and while it cannot be reached, servers poll the store every second. NATSCreds and
	// NATSCA are files: credentials, and certificates (PEM) that verify the NATS server.
	NATS, NATSCreds, NATSCA string
	// HTTPAddr and GRPCAddr are the TCP addresses (host:port) of HTTP and gRPC; "" opens no TCP
	// port. The Unix socket in Data always serves HTTP.
	HTTPAddr, GRPCAddr string
	// TLSCert and TLSKey are PEM files. With them HTTPAddr and GRPCAddr serve TLS. A change of the
	// files takes effect within about a second. The Unix socket never serves TLS.
	TLSCert, TLSKey string
	// ClientCA is a PEM file of certificate authorities. If it is set, a worker needs a certificate
	// from one of them in addition to its key. ClientCA requires TLSCert.
	ClientCA string
	// Origins are web origins, as scheme://host[:port], whose pages may use the API in addition to
	// the pages of the server.
	Origins []string
	// PublicURL is the address at which browsers open the pages behind a proxy, as
	// scheme://host[:port]. "" uses the address of each request. With https the browser stores its
	// half of a session's secret in a Secure cookie.
	PublicURL string
	// StreamsPerKey is the maximum number of streams that readers have open with one API key;
	// default 20,000.
	StreamsPerKey int
	// StreamsPerOrg is the maximum number of durable streams per org; default 10,000.
	StreamsPerOrg int
	// Dev selects dev mode: the server listens only at loopback addresses, and refuses requests
	// that have the Host of another machine or come from a page of another origin. With and without
	// dev mode, the server accepts API keys and the token in Data.
	Dev bool
	// Lease is how long a claim lasts without a renewal; default 15 s.
	Lease time.Duration
	// ReconnectTimeout is how long a worker may take to reconnect before its executions are given
	// to other workers; default 0.5 s.
	ReconnectTimeout time.Duration
	// OrgsCPU is a percentage of the processors. While goroutines wait for a processor, the orgs
	// that have something to compute share that percentage equally. If there is only one such org,
	// it is not limited. A negative value limits nothing. Default: DefaultOrgsCPU.
	OrgsCPU int
	// PayloadLimit is the maximum size of one payload in bytes; default 64 MiB.
	PayloadLimit int64
	// QueueLimits has the maximum number of tasks that run at once, by queue. The tasks of each org
	// are counted separately, over all workers. A limit is at least 1. Queues without a limit in
	// the map are not limited.
	QueueLimits map[string]int
	// OpsAddr is the address (host:port) of the operators' port; "" opens none. It serves /metrics,
	// /healthz and /readyz without a key. It serves /debug/pprof/ only on this machine and with the
	// token in the file ops-token of Data.
	OpsAddr string
	// DrainDelay is how long the server continues to serve after it is told to stop. In that time
	// the server reports that it is not ready, so that a load balancer stops using it before the
	// server refuses connections. 0 is no delay.
	DrainDelay time.Duration
	// Registerer registers the server's metrics. If it is nil, the server has metrics only if
	// OpsAddr is set, and registers them in a registry of its own. If Registerer is also a
	// Gatherer, as *prometheus.Registry is, OpsAddr serves all metrics of Registerer.
	Registerer prometheus.Registerer
	// TracerProvider creates spans of requests and writes. If it is nil, the server creates no
	// spans.
	TracerProvider trace.TracerProvider
	Logger         *slog.Logger
	// Version is the program's version.
	Version string
	// Catalog lists the built-in model providers and tools of the program. The API shows them,
	// together with those that workers have registered.
	Catalog perdure.Catalog
	// WebhookAllowPrivate lets the server send events to webhooks at private and loopback
	// addresses. In dev mode, loopback addresses are always allowed, even without TLS.
	WebhookAllowPrivate bool
	// Clock is the store's time. The default is the clock of the machine (SQLite: see *Clocks* in
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
	// webhooks sends events to the endpoints of webhooks.
	webhooks *webhook.Sender
	http     *face.API
	grpc     *grpcapi.Server
	stop     chan struct{} // closed when streams must end
	fatal    chan error
	// certificate is the certificate of the HTTP port; nil without TLS.
	certificate *certificate
	// draining is set before the shutdown. While it is set, the server reports that it is not
	// ready.
	draining atomic.Bool
	// streams are the streams of responses that continue after their handler has returned.
	// http.Server does not wait for them.
	streams sse.OpenStreams

	closed sync.Once
	tcp    net.Listener // listener for HTTP
	unix   net.Listener
	rpc    net.Listener
	ops    net.Listener
}

// Open locks the data directory and opens its store. It releases the leases of workers that ran in
// the process that owned the directory before. The error is an *OwnedError if another live process
// owns the directory.
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
		return nil // the workers in the processes of other servers still run
	}
	return errors.Join(s.engine.ReturnEmbedded(ctx), s.engine.ReturnDeliveries(ctx))
}

// assemble creates the server's parts over the store.
func (s *Server) assemble(watch observers) (err error) {
	if s.hints, err = openHints(s.Config, s.store.Epoch()); err != nil {
		return err
	}
	processor := s.processor()
	if err := watch.reads(s.store, s.hints.Notifier, processor); err != nil {
		return err
	}
	s.engine = engine.New(engine.Config{
		Store: s.store, Hints: s.hints.Notifier, Logger: s.Logger, Lease: s.Lease, ReconnectTimeout: s.ReconnectTimeout, PayloadLimit: s.PayloadLimit,
		QueueLimits: s.QueueLimits, Observer: watch.engine, Runs: runLog{s.Logger},
	})
	s.engine.WebhookRules(tenants.WebhookPolicy{Loopback: s.Dev})
	public, err := ParsePublicURL(s.PublicURL)
	if err != nil {
		return err
	}
	s.webhooks = webhook.New(webhook.Config{
		PublicURL: public,
		Engine:    s.engine, Links: s.engine.Questions, Store: s.store, Hints: s.hints.Notifier, Observer: watch.webhooks, Logger: s.Logger,
		Network: webhook.Network{AllowLoopback: s.Dev, AllowPrivate: s.WebhookAllowPrivate},
	})
	// The token is accepted in every mode: whoever can read its file owns the data directory.
	access := access{engine: s.engine, token: s.token}
	log := eventlog.New(s.engine.Read(), s.store.Epoch(), s.hints.Notifier)
	s.engine.Grown = func(g engine.Growth) bool { return log.Grown(g.Execution, g.Head, g.Records) }
	s.http, err = face.New(face.Config{
		Config: front.Config{
			Engine: s.engine, Auth: access, Hosts: s.hosts(public), Origins: s.Origins, PublicURL: public, Address: s.listensAt, Logger: s.Logger,
			Observer: watch.http, TracerProvider: s.TracerProvider, Stop: s.stop, StreamsPerKey: s.StreamsPerKey, Share: processor,
		},
		Log: log, Health: s.health, Version: s.Version, Catalog: s.Catalog, Pages: web.Pages(), Streams: &s.streams, StreamsPerOrg: s.StreamsPerOrg,
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

// processor returns the limiter that shares the processors among the orgs; nil if orgs are not limited.
func (s *Server) processor() *fair.Share {
	if s.OrgsCPU < 0 {
		return nil
	}
	return fair.New(runtime.GOMAXPROCS(0), cmp.Or(s.OrgsCPU, DefaultOrgsCPU))
}

// secured reads the certificate of the server, and returns the TLS configuration for gRPC, or nil
// without TLS. Errors: invalid_argument.
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

// fail ends the server after an error that forbids further writes to the store.
func (s *Server) fail(err error) {
	select {
	case s.fatal <- err:
	default:
	}
}

// Dispatch returns the API for a worker in this process. If the process dies, the next owner of the
// data directory releases the worker's leases.
func (s *Server) Dispatch(org string) perdure.Dispatch { return s.engine.Dispatch(org, true) }

// ServeContents lets clients of an org read content that only the given worker stores, even while
// that worker does not run: the server reads the content from `source`. Call the returned function
// to end this.
func (s *Server) ServeContents(org string, worker uuid.UUID, source perdure.ContentSource) (end func()) {
	return s.engine.Homes().ServeContents(org, worker, source)
}

// Token returns the token of the data directory, with which an operator authenticates.
func (s *Server) Token() string { return s.token }

// CreateKey creates an API key of an org, and returns the key and its secret.
func (s *Server) CreateKey(ctx context.Context, org, name string, role perdure.KeyRole) (*perdure.APIKey, string, error) {
	return s.engine.CreateKey(ctx, org, name, role)
}

// Run serves until ctx ends. Then it accepts no new requests, resets streams so that readers
// continue at another server, and waits a limited time for active requests.
func (s *Server) Run(ctx context.Context) error {
	if s.unix == nil {
		if err := s.Listen(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	public := front.NewServer(s.http, slog.NewLogLogger(s.Logger.Handler(), slog.LevelDebug))
	if s.certificate != nil {
		public.TLSConfig = s.certificate.forListener("h2", "http/1.1")
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
	serve("webhooks", func() error { return s.webhooks.Run(ctx) })
	serve("unix socket", func() error { return public.Serve(s.unix) })
	if s.tcp != nil {
		serve("http", func() error {
			if s.certificate != nil {
				return public.ServeTLS(s.tcp, "", "")
			}
			return public.Serve(s.tcp)
		})
	}
	if s.rpc != nil {
		serve("grpc", func() error { return s.grpc.Serve(s.rpc) })
	}
	// The operators' port ends last, because it also reports the shutdown.
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
	s.shutdown(public)
	cancel()
	end()
	group.Wait()
	return err
}

// announce reports that the server is not ready and continues to serve for DrainDelay. It returns
// earlier if ctx ends or the server fails.
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

const (
	stopWithin = 5 * time.Second
	// socketsWithin is the time in which WebSockets send the reason for their end. A client that does
	// not answer, so that its connection stays open, delays the stop of the server by this time.
	socketsWithin = 2 * time.Second
)

func (s *Server) shutdown(public *http.Server) {
	s.draining.Store(true)
	close(s.stop)
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if s.rpc != nil {
		_ = s.grpc.Shutdown(ctx)
	}
	if err := public.Shutdown(ctx); err != nil {
		_ = public.Close()
	}
	last, over := context.WithTimeout(context.Background(), socketsWithin)
	defer over()
	s.http.WaitStreams(last)
	s.streams.Wait() // the longest wait is for an active write
}

// Close closes the store and releases the data directory.
func (s *Server) Close() error {
	var errs []error
	s.closed.Do(func() {
		for _, l := range []net.Listener{s.tcp, s.unix, s.rpc, s.ops} {
			if l != nil {
				_ = l.Close() // Run has usually closed it already
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
