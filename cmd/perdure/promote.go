package main

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

// promoter is the command that copies the content of a LOCAL run to the server.
type promoter struct {
	*app
	standard standard
}

func (a *app) promoteCommand() *cobra.Command {
	p := &promoter{app: a}
	cmd := &cobra.Command{
		Use: "promote ID", Short: "Copy the content of a local run to the server",
		Long: `Copies the content of a run that was started with --local from its worker to the
server, and makes it a run like others, which any worker can continue. The run must
wait for you meanwhile, and its worker must be connected.

Until the copy is whole nothing changes. Called again after an interrupt, it copies
what is missing. ID may be "last", the newest run.`,
		Example: "  perdure runs promote last",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error { return p.promote(cmd.Context(), args[0]) },
	}
	a.jsonFlag(cmd)
	return cmd
}

func (p *promoter) promote(ctx context.Context, arg string) error {
	t := &seat{app: p.app, standard: &p.standard}
	if err := t.connect(ctx); err != nil {
		return err
	}
	defer t.leave(ctx)
	x, err := findRun(ctx, t.Client, arg)
	if err != nil {
		return err
	}
	if x.PersistenceMode != perdure.Local {
		return p.printExecution(x, func() { _ = p.stdout.say("run %s is on the server already", x.ID) })
	}
	if err := p.bring(ctx, t, x); err != nil {
		return err
	}
	told := p.progress(x.ID)
	x, err = p.copied(ctx, t, x.ID)
	told()
	if err != nil {
		return err
	}
	return p.printExecution(x, func() { _ = p.stdout.say("run %s is on the server now", x.ID) })
}

// copied requests the copy. It retries while a worker that was just started is not yet connected.
func (p *promoter) copied(ctx context.Context, t *seat, id uuid.UUID) (*perdure.Execution, error) {
	for deadline := time.Now().Add(connectWithin); ; {
		x, err := t.Promote(ctx, id)
		if !t.works || !perdure.IsCode(err, perdure.Unavailable) || time.Now().After(deadline) {
			return x, err
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// bring starts the worker that has the content, if it is not running here. That worker accepts no
// work, because its queue is private.
func (p *promoter) bring(ctx context.Context, t *seat, x *perdure.Execution) error {
	if !t.needsWorker(x.Queue) || x.HomeID == nil {
		return nil
	}
	p.standard.home = x.HomeID
	if err := p.standard.open(); err != nil {
		return err
	}
	return t.work(ctx, privateQueue+uuid.NewString())
}

const (
	promotingFirst = 2 * time.Second
	promotingNext  = 10 * time.Second
)

// progress prints from time to time that the copy is running, until stop is called.
func (p *promoter) progress(id uuid.UUID) (stop func()) {
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
				_ = p.stderr.say("perdure: copying the content of run %s to the server, %s so far", id, seconds(time.Since(began)))
				next.Reset(promotingNext)
			}
		}
	}()
	return func() { close(over); <-done }
}
