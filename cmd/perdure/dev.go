package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/garbage"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/tool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

// serving is a command that owns the data directory while it runs.
type serving struct {
	*app
	addr, grpcAddr string
	lease          time.Duration
	queueLimits    map[string]int
	standard       standard
	noPark         bool
	registry       *prometheus.Registry
	payloadLimit   int // MiB
	origins        []string
	publicURL      string
	tlsCert        string
	tlsKey         string
	clientCA       string
	streamsPerKey  int
	streamsPerOrg  int
	nats           string
	natsCreds      string
	natsCA         string
	opsAddr        string
	drainDelay     time.Duration
	when           string
}

func (s *serving) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.addr, "addr", "127.0.0.1:8080", "address for HTTP: API and web page")
	f.StringVar(&s.grpcAddr, "grpc-addr", "127.0.0.1:9090", "address for workers (gRPC)")
	f.IntVar(&s.payloadLimit, "payload-limit", perdure.DefaultPayloadLimit>>20, "the most MiB of one input, result, entry or signal")
	f.StringSliceVar(&s.origins, "origin", nil, "origins whose pages may use the API besides the server's own, like https://app.example.com")
	f.StringVar(&s.publicURL, "public-url", "", "address under which browsers open the pages through a proxy, like https://perdure.example.com; with https their cookies are Secure")
	f.StringVar(&s.tlsCert, "tls-cert", "", "certificate (PEM, with those that lead to its root) to serve HTTP and gRPC over TLS with; a renewed one is taken up")
	f.StringVar(&s.tlsKey, "tls-key", "", "key (PEM) of --tls-cert")
	f.StringVar(&s.clientCA, "tls-client-ca", "", "authorities (PEM) of which workers have to have a certificate, beside their key")
	f.IntVar(&s.streamsPerKey, "streams-per-key", 20_000, "how many streams may be open with one key")
	f.IntVar(&s.streamsPerOrg, "streams-per-org", 10_000, "how many durable streams an org may have")
	opsFlag(cmd, &s.opsAddr)
	checkFlag(cmd, &s.when)
	f.DurationVar(&s.drainDelay, "drain-delay", 0, "how long to serve on as before after a signal to stop, while /readyz says no, for load balancers to notice")
	f.DurationVar(&s.lease, "lease", 15*time.Second, "how long a worker may be silent before its work goes to another")
	f.StringToIntVar(&s.queueLimits, "queue-limit", nil, "how many tasks of one org run at once on a queue, as name=N")
}

func (s *serving) check() error {
	if s.lease < time.Second {
		return usageError{"--lease must be at least 1s", ""}
	}
	if (s.tlsCert == "") != (s.tlsKey == "") {
		return usageError{"--tls-cert and --tls-key go together", "give both, or neither"}
	}
	if s.clientCA != "" && s.tlsCert == "" {
		return usageError{"--tls-client-ca needs TLS", "give --tls-cert and --tls-key, too"}
	}
	for queue, n := range s.queueLimits {
		if n < 1 {
			return usageError{"--queue-limit " + queue + "=" + strconv.Itoa(n) + " lets nothing run", "give at least 1"}
		}
	}
	for _, origin := range s.origins {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
			return usageError{"--origin " + origin + " is no origin", "give scheme and host, like https://app.example.com"}
		}
	}
	if _, err := server.ParsePublicURL(s.publicURL); err != nil {
		return usageError{"--public-url " + s.publicURL + " is no address", "give scheme and host without a path, like https://perdure.example.com"}
	}
	if s.streamsPerKey < 1 {
		return usageError{"--streams-per-key must be at least 1", ""}
	}
	if s.streamsPerOrg < 1 {
		return usageError{"--streams-per-org must be at least 1", ""}
	}
	if s.drainDelay < 0 {
		return usageError{"--drain-delay must not be negative", ""}
	}
	if err := checkWhen(s.when); err != nil {
		return err
	}
	if s.payloadLimit < 1 || s.payloadLimit > 1024 {
		return usageError{"--payload-limit must be from 1 to 1024 (MiB)", ""}
	}
	return nil
}

func (a *app) devCommand() *cobra.Command {
	s := &serving{app: a}
	cmd := &cobra.Command{
		Use: "dev", Short: "Serve and run agents on this machine", GroupID: "serve",
		Long: `Server and worker in one process, for this machine alone: API, web page and
workers' port on loopback, a random token as the key. Runs work in folders below
--workspace. Commands on the same data directory use this server.`,
		Example: `  perdure dev
  perdure dev --addr 127.0.0.1:8081 --grpc-addr 127.0.0.1:9091 --workspace ~/src`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			garbage.Ease(cmd.Context())
			return s.dev(cmd.Context())
		},
	}
	s.flags(cmd)
	s.standard.flags(cmd)
	s.standard.limits(cmd, 5*time.Second)
	cmd.Flags().BoolVar(&s.noPark, "no-park", false, "enter agents again at every wait, to find agents that do not bear that")
	return cmd
}

func (a *app) serverCommand() *cobra.Command {
	s := &serving{app: a}
	cmd := &cobra.Command{
		Use: "server", Short: "Serve clients and workers", GroupID: "serve",
		Long: `The server alone; perdure worker runs the agents. Clients and workers need API
keys, which perdure keys create makes. It serves other machines only once there
is a key.

With --store any number of servers share a database, and each serves any client
and any worker. With --nats they tell each other at once what is new; without it,
and while NATS is away, they find it within a second. NATS need not be there at
the start, carries no content, and keeps nothing: GET /readyz says
"degraded", with the check "hints", while it is away.`,
		Example: `  perdure keys create --role admin me
  perdure server --addr 0.0.0.0:8080 --grpc-addr 0.0.0.0:9090
  perdure server --store postgres://perdure@db/perdure --nats nats://nats:4222
  perdure server --store postgres://perdure@db/perdure \
    --nats tls://n1:4222,tls://n2:4222 --nats-creds perdure.creds`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			garbage.Ease(cmd.Context())
			return s.serve(cmd.Context())
		},
	}
	s.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&s.nats, "nats", "", "URL of NATS, nats://[user:password@]host:4222 or tls://..., several separated by commas: servers of one --store tell each other what is new")
	f.StringVar(&s.natsCreds, "nats-creds", "", "file with credentials for NATS, as nsc makes it")
	f.StringVar(&s.natsCA, "nats-ca", "", "certificates (PEM) to check NATS by; default: the system's")
	return cmd
}

// open opens the data directory, which no other process may own. It waits for an owner that only
// reads.
func (s *serving) open(ctx context.Context, dev bool) (*server.Server, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.app.server != "" {
		return nil, usageError{"--server is for clients", "leave it out, and unset PERDURE_SERVER"}
	}
	data, err := s.dataDir()
	if err != nil {
		return nil, err
	}
	config := server.Config{
		Data: data, Store: s.app.store, StoreAllowOff: s.app.storeAllowOff, CheckBefore: s.when == checkBefore, NATS: s.nats, NATSCreds: s.natsCreds, NATSCA: s.natsCA,
		HTTPAddr: s.addr, GRPCAddr: s.grpcAddr, Dev: dev, Lease: s.lease, QueueLimits: s.queueLimits,
		Origins: s.origins, PublicURL: s.publicURL, StreamsPerKey: s.streamsPerKey, StreamsPerOrg: s.streamsPerOrg, TLSCert: s.tlsCert, TLSKey: s.tlsKey, ClientCA: s.clientCA, PayloadLimit: int64(s.payloadLimit) << 20, Logger: s.logger(slog.LevelInfo), Version: programVersion(),
		OpsAddr: s.opsAddr, DrainDelay: s.drainDelay, Registerer: s.registerer(), TracerProvider: s.tracing.tracerProvider(),
	}
	for deadline := time.Now().Add(connectWithin); ; {
		opened, err := server.Open(ctx, config)
		var owned *server.OwnedError
		if !errors.As(err, &owned) {
			return opened, err
		}
		o, err := readOwner(data)
		passing := err != nil || o.Kind == ownerLook // a command that ends soon
		if !passing || time.Now().After(deadline) {
			return nil, fmt.Errorf("process %d owns the data directory %s already\n  end it, or give another directory with --data", owned.PID, owned.Data)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func (s *serving) dev(ctx context.Context) error {
	if err := s.standard.open(); err != nil {
		return err
	}
	own, err := s.open(ctx, true)
	if err != nil {
		return err
	}
	return errors.Join(s.devOn(ctx, own), own.Close())
}

// devOn registers the worker before the addresses are bound, so that the first client finds the
// known kinds of agents.
func (s *serving) devOn(ctx context.Context, own *server.Server) error {
	w := &s.standard
	w.dev, w.queues, w.logger, w.registerer = true, []string{"default"}, s.logger(slog.LevelInfo), s.registerer()
	w.tracer, w.checkBefore = s.tracing.tracerProvider(), s.when == checkBefore
	if s.noPark {
		w.parked = -1
	}
	if err := disk.WriteFile(workspaceFile(own.Data), []byte(w.workspace+"\n")); err != nil {
		return err
	}
	stopWorker, err := w.start(ctx, own.Dispatch(server.DevOrg), own.Data)
	if err != nil {
		return err
	}
	defer stopWorker()
	return s.listen(ctx, own, ownerDev, stopWorker)
}

// listen serves until ctx ends. It stops the worker before the server.
func (s *serving) listen(ctx context.Context, own *server.Server, kind ownerKind, stopWorker func()) error {
	if err := own.Listen(); err != nil {
		return err
	}
	o := owner{Kind: kind, GRPC: own.GRPCAddress()}
	if s.tlsCert != "" {
		var err error
		if o.Certificate, err = filepath.Abs(s.tlsCert); err != nil {
			return err
		}
	}
	if kind == ownerDev {
		o.Workspace = s.standard.workspace
	}
	if err := o.write(own.Data); err != nil {
		return err
	}
	defer forgetOwner(own.Data)
	serveCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- own.Run(serveCtx) }()
	s.greet(own, kind)
	if kind == ownerDev {
		s.tellLeft(ctx, own)
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintln(s.stderr, "perdure: stopping; Ctrl-C again stops at once")
	stopWorker()
	cancel()
	return <-ended
}

// greet prints the addresses.
func (s *serving) greet(own *server.Server, kind ownerKind) {
	say := func(what, value string) { _ = s.stdout.say("  %-11s %s", what, value) }
	local := own.HTTPScheme() + "://" + own.HTTPAddress() + "/"
	open := local
	if s.publicURL != "" {
		open = strings.TrimSuffix(s.publicURL, "/") + "/"
	}
	if kind == ownerDev {
		fmt.Fprintln(s.stdout, "perdure dev")
		s.invite(own, open, say)
	} else {
		fmt.Fprintln(s.stdout, "perdure server")
	}
	if kind != ownerDev || open != local {
		say("http", local)
	}
	say("workers", own.GRPCAddress()+" (gRPC)")
	if own.OpsAddress() != "" {
		say("ops", "http://"+own.OpsAddress()+"/metrics")
	}
	say("data", own.Data)
	if kind == ownerDev {
		say("workspace", s.standard.workspace)
		say("bash", s.standard.confinement(own.Data))
	}
}

// invite prints how to sign in. It prints the token only to a terminal: a file or a pipe may be
// kept and read by others.
func (s *serving) invite(own *server.Server, open string, say func(what, value string)) {
	if isTerminal(s.stdout) {
		say("open", open+"?token="+url.QueryEscape(own.Token()))
		return
	}
	say("open", open)
	say("sign in", "with the token in "+server.TokenFile(own.Data))
}

// confinement describes what confines bash to the workspace.
func (s *standard) confinement(data string) string {
	w, err := tool.OpenWorkspace(s.workspace, "", s.fences.options(data, s.secretPaths(data)))
	if err != nil {
		return plainError(err)
	}
	defer func() { _ = w.Close() }() // opened only for reading
	if note := w.ConfinementNote(); note != "" {
		return note
	}
	return "confined by " + w.Confinement() + ": it writes only the workspace, caches and temporary folders of its own, and reaches neither the data directory nor Unix sockets"
}

// tellLeft lists unfinished runs of commands. They work in their own directories, so only their
// user continues them.
func (s *serving) tellLeft(ctx context.Context, own *server.Server) {
	c := client.Socket(own.Socket(), own.Token())
	defer c.Close()
	left := 0
	for x, err := range c.List(ctx, client.ExecutionFilter{Status: []perdure.Status{perdure.StatusPending, perdure.StatusWaiting}}) {
		if err != nil || left > 100 {
			break
		}
		if isPrivate(x) && x.WaitReason != "signal" {
			left++
			_ = s.stdout.say("  left        perdure resume %s%s", x.ID, s.typed)
		}
	}
}

func (s *serving) serve(ctx context.Context) error {
	own, err := s.open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(s.listen(ctx, own, ownerServer, func() {}), own.Close())
}
