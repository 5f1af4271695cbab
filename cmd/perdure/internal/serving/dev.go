package serving

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/garbage"
	"github.com/perdure/perdure/server"
	"github.com/spf13/cobra"
)

func newDevCommand(a *setup.App) *cobra.Command {
	s := &serverCommand{App: a}
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
	s.worker.Flags(cmd)
	s.worker.LimitFlags(cmd, 5*time.Second)
	cmd.Flags().BoolVar(&s.noPark, "no-park", false, "enter agents again at every wait, to find agents that fail if they are entered again")
	return cmd
}

func (s *serverCommand) dev(ctx context.Context) error {
	if err := s.worker.CheckWorkspace(); err != nil {
		return err
	}
	own, err := s.open(ctx, true)
	if err != nil {
		return err
	}
	return errors.Join(s.devOn(ctx, own), own.Close())
}

// devOn runs perdure dev on an opened server until ctx ends. It registers the worker before the
// server listens on its addresses, so that the server knows the kinds of agents when the first client
// connects.
func (s *serverCommand) devOn(ctx context.Context, own *server.Server) error {
	w := &s.worker
	w.Dev, w.Queues, w.Logger, w.Registerer = true, []string{"default"}, s.Logger(slog.LevelInfo), s.registerer()
	w.Tracer, w.CheckBefore, w.Version = s.Tracing.TracerProvider(), s.when == checkBefore, s.Version
	if s.noPark {
		w.Parked = -1
	}
	if err := disk.WriteFile(connection.WorkspaceFile(own.Data), []byte(w.Workspace+"\n")); err != nil {
		return err
	}
	stopWorker, err := w.Start(ctx, own.Dispatch(server.DevOrg), own.Data)
	if err != nil {
		return err
	}
	defer stopWorker()
	return s.listen(ctx, own, connection.OwnerDev, stopWorker)
}
