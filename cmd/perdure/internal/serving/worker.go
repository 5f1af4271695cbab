package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/garbage"
	"github.com/perdure/perdure/internal/ops"
	"github.com/perdure/perdure/worker/remote"
	"github.com/spf13/cobra"
)

// workerCommand is perdure worker, which runs a worker that connects to a server in another process.
type workerCommand struct {
	*setup.App
	worker  builtin.Worker
	addr    string
	queues  []string
	tls     setup.ClientTLS
	opsAddr string
	when    string
}

func newWorkerCommand(a *setup.App) *cobra.Command {
	w := &workerCommand{App: a}
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
			return w.run(cmd.Context())
		},
	}
	f := cmd.Flags()
	f.StringVar(&w.addr, "server", "", "gRPC address of the server, host:port, several separated by commas (variable PERDURE_GRPC)")
	f.Lookup("server").Annotations = map[string][]string{setup.VariableAnnotation: {"PERDURE_GRPC"}}
	f.StringSliceVar(&w.queues, "queue", []string{"default"}, "queues to take work from")
	w.tls.Flags(cmd)
	opsFlag(cmd, &w.opsAddr)
	checkFlag(cmd, &w.when)
	w.worker.Flags(cmd)
	w.worker.LimitFlags(cmd, 30*time.Second)
	return cmd
}

func (w *workerCommand) run(ctx context.Context) error {
	s := &w.worker
	if err := s.CheckWorkspace(); err != nil {
		return err
	}
	if err := checkCheckFlag(w.when); err != nil {
		return err
	}
	s.CheckBefore = w.when == checkBefore
	data, err := w.DataDir()
	if err != nil {
		return err
	}
	// The worker records in this directory the processes that its tools start. When the worker
	// starts after a crash, it kills those processes that still run.
	if err := os.MkdirAll(data, 0o700); err != nil {
		return setup.NewUsageError("the data directory "+data+" cannot be made: "+err.Error(), "give another one with --data")
	}
	log := w.Logger(slog.LevelInfo)
	options := remote.Options{Addr: w.addr, Token: w.Key, Org: w.Org, Logger: log}
	if options.TLS, err = w.tls.Config(); err != nil {
		return err
	}
	if err := w.fillAddress(&options, data); err != nil {
		return err
	}
	stopOps, err := w.serveOps(data, log)
	if err != nil {
		return err
	}
	defer stopOps()
	d, err := w.dial(ctx, options)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }() // all work has been released
	s.Queues, s.Logger, s.Tracer, s.Version = w.queues, log, w.Tracing.TracerProvider(), w.Version
	stop, err := s.Start(ctx, d, data)
	if err != nil {
		return err
	}
	fmt.Fprintln(w.Stdout, "perdure worker")
	for _, fact := range [][2]string{
		{"server", options.Addr}, {"queues", strings.Join(s.Queues, ", ")}, {"workspace", s.Workspace}, {"bash", s.Confinement(data)},
	} {
		_ = w.Stdout.Linef("  %-11s %s", fact[0], fact[1])
	}
	<-ctx.Done()
	fmt.Fprintln(w.Stderr, "perdure: stopping; Ctrl-C again stops at once")
	stop()
	return nil
}

// serveOps opens the port for operators, before the worker is connected to a server. Operators can then see
// that the worker waits for the server.
func (w *workerCommand) serveOps(data string, log *slog.Logger) (stop func(), err error) {
	listener, err := listenOps(w.opsAddr)
	if listener == nil {
		return func() {}, err
	}
	token, err := ops.OpenToken(data)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	registry := ops.NewRegistry(w.Version)
	w.worker.Registerer = registry
	_ = w.Stdout.Linef("  %-11s http://%s/metrics", "ops", listener.Addr())
	return serveOps(listener, ops.Config{Gatherer: registry, Health: healthOf(w.worker.Running.Load), Logger: log, Token: token}), nil
}
