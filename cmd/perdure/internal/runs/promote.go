package runs

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// promoteCommand is perdure promote, which copies the content of a LOCAL run from its worker to the server.
type promoteCommand struct {
	*setup.App
	worker builtin.Worker
}

func newPromoteCommand(a *setup.App) *cobra.Command {
	p := &promoteCommand{App: a}
	cmd := &cobra.Command{
		Use: "promote ID", Short: "Copy the content of a local run to the server",
		Long: `Copies the content of a run that was started with --local from its worker to the
server, and makes it a run like others, which any worker can continue. The run must
wait for you meanwhile, and its worker must be connected.

Until the copy is whole nothing changes. Called again after an interrupt, it copies
what is missing. ID may be "last", the newest run.`,
		Example: "  perdure runs promote last",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: lookup.Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error { return p.promote(cmd.Context(), args[0]) },
	}
	a.JSONFlag(cmd)
	return cmd
}

func (p *promoteCommand) promote(ctx context.Context, arg string) error {
	conn := &connection.RunConn{App: p.App, Worker: &p.worker}
	if err := conn.Connect(ctx); err != nil {
		return err
	}
	defer conn.Close(ctx)
	x, err := lookup.Find(ctx, conn.Client, arg)
	if err != nil {
		return err
	}
	if x.PersistenceMode != perdure.Local {
		return printExecution(p.App, x, func() { _ = p.Stdout.Linef("run %s is on the server already", x.ID) })
	}
	if err := p.startHomeWorker(ctx, conn, x); err != nil {
		return err
	}
	told := p.progress(x.ID)
	x, err = p.requestCopy(ctx, conn, x.ID)
	told()
	if err != nil {
		return err
	}
	return printExecution(p.App, x, func() { _ = p.Stdout.Linef("run %s is on the server now", x.ID) })
}

// requestCopy asks the server to copy the content of the run. A worker that has just been started may not
// be connected yet; requestCopy then tries again.
func (p *promoteCommand) requestCopy(ctx context.Context, conn *connection.RunConn, id uuid.UUID) (*perdure.Execution, error) {
	for deadline := time.Now().Add(connection.ConnectTimeout); ; {
		x, err := conn.Promote(ctx, id)
		if !conn.HasWorker || !perdure.IsCode(err, perdure.Unavailable) || time.Now().After(deadline) {
			return x, err
		}
		if err := connection.Pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// startHomeWorker starts, in this process, the home worker, which stores the content of the run. It
// starts nothing if another process has workers for the run. The started worker polls only a new
// private queue, so it claims no runs and no tasks.
func (p *promoteCommand) startHomeWorker(ctx context.Context, conn *connection.RunConn, x *perdure.Execution) error {
	if !conn.NeedsWorker(x.Queue) || x.HomeID == nil {
		return nil
	}
	p.worker.Home = x.HomeID
	if err := p.worker.CheckWorkspace(); err != nil {
		return err
	}
	return conn.StartWorker(ctx, connection.PrivateQueue+uuid.NewString())
}

const (
	promotingFirst = 2 * time.Second
	promotingNext  = 10 * time.Second
)

// progress prints from time to time that the copy is running, until the returned function `stop` is
// called.
func (p *promoteCommand) progress(id uuid.UUID) (stop func()) {
	began, over, done := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		next := time.NewTimer(promotingFirst)
		defer next.Stop()
		for {
			select {
			case <-over:
				return
			case <-next.C:
				_ = p.Stderr.Linef("perdure: copying the content of run %s to the server, %s so far", id, terminal.Duration(time.Since(began)))
				next.Reset(promotingNext)
			}
		}
	}()
	return func() { close(over); <-done }
}
