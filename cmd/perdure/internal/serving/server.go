package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/garbage"
	"github.com/perdure/perdure/server"
	"github.com/spf13/cobra"
)

func newServerCommand(a *setup.App) *cobra.Command {
	s := &serverCommand{App: a}
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
	s.worker.ModelTableFlag(cmd)
	f := cmd.Flags()
	f.StringVar(&s.nats, "nats", "", "URL of NATS, nats://[user:password@]host:4222 or tls://..., several separated by commas: servers of one --store tell each other what is new")
	f.StringVar(&s.natsCreds, "nats-creds", "", "file with credentials for NATS, as nsc makes it")
	f.StringVar(&s.natsCA, "nats-ca", "", "certificates (PEM) to check NATS by; default: the system's")
	return cmd
}

// open opens the data directory, which no other process may own. If the owner is a command that
// ends soon, open waits for its end.
func (s *serverCommand) open(ctx context.Context, dev bool) (*server.Server, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Server != "" {
		return nil, setup.NewUsageError("--server is for clients", "leave it out, and unset PERDURE_SERVER")
	}
	data, err := s.DataDir()
	if err != nil {
		return nil, err
	}
	catalog, err := s.worker.Catalog()
	if err != nil {
		return nil, err
	}
	config := server.Config{
		Data: data, Store: s.Store, StoreAllowOff: s.StoreAllowOff, StorePlain: s.StorePlain, CheckBefore: s.when == checkBefore, NATS: s.nats, NATSCreds: s.natsCreds, NATSCA: s.natsCA,
		HTTPAddr: s.addr, GRPCAddr: s.grpcAddr, Dev: dev, Lease: s.lease, QueueLimits: s.queueLimits,
		Origins: s.origins, PublicURL: s.publicURL, StreamsPerKey: s.streamsPerKey, StreamsPerOrg: s.streamsPerOrg, WebhookAllowPrivate: s.allowPrivate, OrgsCPU: s.ofProcessors(), TLSCert: s.tlsCert, TLSKey: s.tlsKey, ClientCA: s.clientCA, PayloadLimit: int64(s.payloadLimit) << 20, Logger: s.Logger(slog.LevelInfo), Version: s.Version, Catalog: catalog,
		OpsAddr: s.opsAddr, DrainDelay: s.drainDelay, Registerer: s.registerer(), TracerProvider: s.Tracing.TracerProvider(),
	}
	for deadline := time.Now().Add(connection.ConnectTimeout); ; {
		opened, err := server.Open(ctx, config)
		var owned *server.OwnedError
		if !errors.As(err, &owned) {
			return opened, err
		}
		o, err := connection.ReadOwner(data)
		passing := err != nil || o.Kind == connection.OwnerRequest // the owner is a command that ends soon
		if !passing || time.Now().After(deadline) {
			return nil, fmt.Errorf("process %d owns the data directory %s already\n  end it, or give another directory with --data", owned.PID, owned.Data)
		}
		if err := connection.Pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// listen serves until ctx ends. It stops the worker before the server.
func (s *serverCommand) listen(ctx context.Context, own *server.Server, kind connection.OwnerKind, stopWorker func()) error {
	if err := own.Listen(); err != nil {
		return err
	}
	o := connection.Owner{Kind: kind, GRPC: own.GRPCAddress()}
	if s.tlsCert != "" {
		var err error
		if o.Certificate, err = filepath.Abs(s.tlsCert); err != nil {
			return err
		}
	}
	if kind == connection.OwnerDev {
		o.Workspace = s.worker.Workspace
	}
	if err := o.Write(own.Data); err != nil {
		return err
	}
	defer connection.RemoveOwner(own.Data)
	serveCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- own.Run(serveCtx) }()
	s.printAddresses(own, kind)
	if kind == connection.OwnerDev {
		s.printUnfinished(ctx, own)
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	fmt.Fprintln(s.Stderr, "perdure: stopping; Ctrl-C again stops at once")
	stopWorker()
	cancel()
	return <-ended
}

func (s *serverCommand) serve(ctx context.Context) error {
	own, err := s.open(ctx, false)
	if err != nil {
		return err
	}
	return errors.Join(s.listen(ctx, own, connection.OwnerServer, func() {}), own.Close())
}
