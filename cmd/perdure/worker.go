package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/garbage"
	"github.com/perdure/perdure/internal/ops"
	"github.com/perdure/perdure/server"
	"github.com/perdure/perdure/worker/remote"
	"github.com/spf13/cobra"
)

// limits adds the flags of commands with a general worker.
func (s *standard) limits(cmd *cobra.Command, drain time.Duration) {
	f := cmd.Flags()
	f.IntVar(&s.agents, "agents", 50, "how many runs work at once")
	f.IntVar(&s.tasks, "tasks", 20, "how many model calls and tools work at once")
	f.DurationVar(&s.drain, "drain", drain, "how long work may take to end when the worker is stopped")
}

// laborer is the command that runs a worker for a server in another process.
type laborer struct {
	*app
	standard standard
	addr     string
	queues   []string
	secure   secureFlags
	opsAddr  string
	when     string
}

func (a *app) workerCommand() *cobra.Command {
	l := &laborer{app: a}
	cmd := &cobra.Command{
		Use: "worker", Short: "Run agents for a server", GroupID: "serve",
		Long: `Runs agents, model calls and tools for a server. --server is the server's gRPC
address, and --key an API key of the role worker; without them it works for the
server that owns the data directory on this machine.

Of servers that share a database give several addresses, or a name that stands for
all. The worker chooses one of them at random, and changes to another when that one is
gone. It sends again what was not acknowledged, which the servers count once.

The keys of model providers are this process's variables: ANTHROPIC_API_KEY,
OPENAI_API_KEY, GEMINI_API_KEY. Workers of one queue must see the same files.`,
		Example: `  PERDURE_KEY=... perdure worker --server server.example.com:9090 --tls --workspace /srv/agents
  PERDURE_KEY=... perdure worker --server one:9090,two:9090,three:9090
  perdure worker --queue gpu --tasks 4`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			garbage.Ease(cmd.Context())
			return l.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&l.addr, "server", "", "gRPC address of the server, host:port, several separated by commas (variable PERDURE_GRPC)")
	f.Lookup("server").Annotations = map[string][]string{envAnnotation: {"PERDURE_GRPC"}}
	f.StringSliceVar(&l.queues, "queue", []string{"default"}, "queues to take work from")
	l.secure.flags(cmd)
	opsFlag(cmd, &l.opsAddr)
	checkFlag(cmd, &l.when)
	l.standard.flags(cmd)
	l.standard.limits(cmd, 30*time.Second)
	return cmd
}

func (l *laborer) run(ctx context.Context) error {
	s := &l.standard
	if err := s.open(); err != nil {
		return err
	}
	if s.agents < 1 || s.tasks < 1 {
		return usageError{"--agents and --tasks must be at least 1", ""}
	}
	if err := checkWhen(l.when); err != nil {
		return err
	}
	s.checkBefore = l.when == checkBefore
	data, err := l.dataDir()
	if err != nil {
		return err
	}
	// The worker records the processes that its tools start there, so that its next start kills
	// those that a crash left running.
	if err := os.MkdirAll(data, 0o700); err != nil {
		return usageError{"the data directory " + data + " cannot be made: " + err.Error(), "give another one with --data"}
	}
	log := l.logger(slog.LevelInfo)
	options := remote.Options{Addr: l.addr, Token: l.key, Org: l.org, Logger: log}
	if options.TLS, err = l.secure.config(); err != nil {
		return err
	}
	if err := l.near(&options, data); err != nil {
		return err
	}
	stopOps, err := l.serveOps(data, log)
	if err != nil {
		return err
	}
	defer stopOps()
	d, err := l.dial(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // all work has been released
	s.queues, s.logger, s.tracer = l.queues, log, l.tracing.tracerProvider()
	stop, err := s.start(ctx, d, data)
	if err != nil {
		return err
	}
	fmt.Fprintln(l.stdout, "perdure worker")
	for _, fact := range [][2]string{
		{"server", options.Addr}, {"queues", strings.Join(s.queues, ", ")}, {"workspace", s.workspace}, {"bash", s.confinement(data)},
	} {
		_ = l.stdout.say("  %-11s %s", fact[0], fact[1])
	}
	<-ctx.Done()
	fmt.Fprintln(l.stderr, "perdure: stopping; Ctrl-C again stops at once")
	stop()
	return nil
}

// serveOps opens the port for operators before the server is reachable, so that they see that the
// worker waits for it.
func (l *laborer) serveOps(data string, log *slog.Logger) (stop func(), err error) {
	listener, err := listenOps(l.opsAddr)
	if listener == nil {
		return func() {}, err
	}
	token, err := ops.OpenToken(data)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	registry := ops.NewRegistry(programVersion())
	l.standard.registerer = registry
	_ = l.stdout.say("  %-11s http://%s/metrics", "ops", listener.Addr())
	return serveOps(listener, ops.Config{Gatherer: registry, Health: healthOf(l.standard.running.Load), Logger: log, Token: token}), nil
}

// dial connects, and waits for a server that is not reachable yet. Workers and servers can start in
// any order.
func (l *laborer) dial(ctx context.Context, o remote.Options) (*remote.Client, error) {
	const most = 5 * time.Second
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, most) {
		d, err := remote.Dial(ctx, o)
		if !perdure.IsCode(err, perdure.Unavailable) {
			return d, err
		}
		_ = l.stderr.say("perdure: %s; trying again in %s", plainError(err), pause)
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(pause):
		}
	}
}

// near fills in missing options from the server that owns the data directory.
func (l *laborer) near(o *remote.Options, data string) error {
	switch {
	case strings.Contains(o.Addr, "://"):
		return usageError{"--server " + perdure.HidePassword(o.Addr) + " is no gRPC address", "give host:port, such as 127.0.0.1:9090"}
	case o.Addr != "" && o.Token == "" && !isLocal(o.Addr):
		return usageError{"the API key is missing", "give one of the role worker with --key or PERDURE_KEY; perdure keys create --role worker NAME makes one"}
	}
	if o.Addr == "" {
		owner, err := &owner{}, error(nil)
		if data != "" {
			owner, err = readOwner(data)
		}
		if err != nil || owner.GRPC == "" {
			return usageError{"there is no server to work for", "start perdure server, or give the gRPC address of another with --server or PERDURE_GRPC"}
		}
		o.Addr = owner.GRPC
		if o.TLS == nil && owner.Certificate != "" {
			if o.TLS, err = trusting(owner.Certificate); err != nil {
				return err
			}
		}
	}
	if o.Token == "" && data != "" {
		raw, err := os.ReadFile(server.TokenFile(data))
		if err != nil {
			return perdure.Errorf(perdure.Unauthenticated, "there is no API key; give one of the role worker with --key or PERDURE_KEY")
		}
		o.Token = strings.TrimSpace(string(raw))
	}
	return nil
}

// isLocal reports whether the addresses are on this machine. The token of the data directory may
// then be used as the key.
func isLocal(list string) bool {
	for addr := range strings.SplitSeq(list, ",") {
		here := func(prefix string) bool { return strings.HasPrefix(strings.TrimSpace(addr), prefix) }
		if !slices.ContainsFunc([]string{"127.", "localhost:", "[::1]:", "unix:"}, here) {
			return false
		}
	}
	return true
}
