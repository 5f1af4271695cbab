package serving

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/internal/health"
	"github.com/perdure/perdure/internal/ops"
	"github.com/perdure/perdure/worker"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
)

// opsFlag adds the flag --ops-addr, the address of the port for operators, to a server's or worker's
// command.
func opsFlag(cmd *cobra.Command, addr *string) {
	cmd.Flags().StringVar(addr, "ops-addr", "", "private address for operators, without a key: /metrics, /healthz, /readyz, and /debug/pprof/ for this machine with the token in the data directory's file ops-token; default: none")
}

// registerer returns where this process registers its metrics; nil if no port serves them.
func (s *serverCommand) registerer() prometheus.Registerer {
	if s.opsAddr == "" {
		return nil
	}
	if s.registry == nil {
		s.registry = ops.NewRegistry(s.Version)
	}
	return s.registry
}

// listenOps opens the port for operators of a worker. For an empty address the listener is nil.
func listenOps(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, setup.NewUsageError("cannot listen on --ops-addr "+addr+": "+err.Error(), "give another address, like 127.0.0.1:9464")
	}
	return l, nil
}

// serveOps serves metrics and profiles of a worker on the listener until the returned function
// `stop` is called.
func serveOps(l net.Listener, c ops.Config) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() {
		if err := ops.Serve(ctx, l, ops.Handler(c), c.Logger); err != nil {
			c.Logger.Error("the port for operators failed", "error", err)
		}
	})
	return func() { cancel(); over.Wait() }
}

// healthOf returns the health check of a worker: whether it accepts work.
func healthOf(w func() *worker.Worker) health.Check {
	return func(context.Context) (r health.Report) {
		running := w()
		if running == nil {
			r.Unready = append(r.Unready, health.Reason{Check: "starting", Detail: "the worker is starting"})
			return r
		}
		switch err := running.Check(); {
		case errors.Is(err, worker.ErrDraining):
			r.Unready = append(r.Unready, health.Reason{Check: "stopping", Detail: "the worker is stopping"})
		case err != nil:
			r.Unready = append(r.Unready, health.Reason{Check: "server", Detail: "the server does not answer the worker"})
		}
		return r
	}
}
