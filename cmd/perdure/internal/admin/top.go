package admin

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// topCommand is the command that shows queues and workers.
type topCommand struct {
	*setup.App
	every time.Duration
	once  bool
}

// overview contains the data that one refresh of the command shows.
type overview struct {
	Queues  []*perdure.QueueInfo  `json:"queues"`
	Workers []*perdure.WorkerInfo `json:"workers"`
}

func newTopCommand(a *setup.App) *cobra.Command {
	t := &topCommand{App: a}
	cmd := &cobra.Command{
		Use: "top", Short: "Watch queues and workers", GroupID: "serve",
		Long: `Shows the queues (see perdure queues) and the workers (see perdure workers) of all
servers, and refreshes them until Ctrl-C. If the output is no terminal, or with
--once, it prints them once. --json prints an object with queues and workers; with
--every it prints one a line until Ctrl-C.`,
		Example: "  perdure top\n  perdure top --every 10s\n  perdure top --json | jq '.queues[] | select(.waiting > 0)'",
		Args:    setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if t.every < 500*time.Millisecond || t.every > time.Hour {
				return setup.NewUsageError("--every must be between 500ms and 1h", "leave it out to refresh every 2 seconds")
			}
			repeat := !t.once && (cmd.Flags().Changed("every") || !a.JSON && terminal.IsTerminal(a.Stdout))
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error { return t.run(cmd.Context(), conn.Client, repeat) })
		},
	}
	cmd.Flags().DurationVar(&t.every, "every", 2*time.Second, "how often to refresh")
	cmd.Flags().BoolVar(&t.once, "once", false, "print once, and end")
	a.JSONFlag(cmd)
	return cmd
}

// run prints the overview once. If `repeat` is set, it prints the overview again and again until
// ctx ends.
func (t *topCommand) run(ctx context.Context, c *client.Client, repeat bool) error {
	for {
		o, err := readOverview(ctx, c)
		if repeat && ctx.Err() != nil {
			return nil // Ctrl-C is the way to end it
		}
		if err != nil {
			return err
		}
		if err := t.print(o, repeat); err != nil || !repeat {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(t.every):
		}
	}
}

func readOverview(ctx context.Context, c *client.Client) (o overview, err error) {
	if o.Queues, err = all(c.Queues(ctx)); err != nil {
		return o, err
	}
	o.Workers, err = all(c.Workers(ctx))
	return o, err
}

// all returns the items of a list; an empty slice if there are none.
func all[T any](items iter.Seq2[T, error]) ([]T, error) {
	found := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		found = append(found, item)
	}
	return found, nil
}

func (t *topCommand) print(o overview, repeat bool) error {
	switch {
	case t.JSON && repeat:
		return t.Stdout.PrintJSONLine(o)
	case t.JSON:
		return t.Stdout.PrintJSON(o)
	}
	t.Stdout.Hold()
	err := t.printTables(o, repeat)
	return errors.Join(err, t.Stdout.Release())
}

func (t *topCommand) printTables(o overview, repeat bool) error {
	if repeat {
		if err := t.Stdout.ClearAll(); err != nil {
			return err
		}
	}
	if err := printQueues(t.App, o.Queues); err != nil {
		return err
	}
	if err := t.Stdout.Linef(""); err != nil {
		return err
	}
	return printWorkers(t.App, o.Workers)
}
