package watcher

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// NewTailCommand returns the command that follows a run from its start.
func NewTailCommand(a *setup.App) *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use: "tail ID", Short: "Follow a run from its start", GroupID: "runs",
		Example: "  perdure tail last\n  perdure tail 0199d7e2-... --from-now\n  perdure tail last --json | jq .event",
		Long: `Prints everything that a run has said and done, then what comes, until the run ends.
If no server is up, nothing can come, and tail prints what there is. ID may be
"last". With --json each event is a line {cursor, event, data}.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: lookup.Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error { return tail(cmd.Context(), a, conn, args[0], now) })
		},
	}
	cmd.Flags().BoolVar(&now, "from-now", false, "leave out what happened before")
	a.JSONFlag(cmd)
	return cmd
}

func tail(ctx context.Context, a *setup.App, conn *connection.Conn, arg string, now bool) error {
	x, err := lookup.Find(ctx, conn.Client, arg)
	if err != nil {
		return err
	}
	w := New(a, &connection.RunConn{App: a, Conn: conn}, x.ID)
	w.Patient = true
	w.View.Started(x)
	w.IncludeSteps(x)
	if text, ok := w.View.(*terminal.TextView); ok {
		text.ShowUserMessages, text.ShowSignals = true, true
		text.Results.All = a.Stdout.Columns() == 0
		if err := showInput(ctx, conn, x, text); err != nil {
			return err
		}
	}
	if now {
		snapshot, err := w.Snapshot(ctx, x.ID, 100)
		if err != nil {
			return err
		}
		w.Cursor = snapshot.Cursor
		w.View.AddEntries(snapshot.Entries)
		if w.steps != nil {
			if err := w.steps.skip(ctx); err != nil {
				return err
			}
		}
	}
	if conn.Offline() {
		return w.replay(ctx, x)
	}
	if _, err := w.Follow(ctx); err != nil {
		return err
	}
	return w.ShowResult(ctx)
}

// replay shows the existing events of a run that no process executes.
func (w *Watcher) replay(ctx context.Context, x *perdure.Execution) error {
	for {
		p, err := w.Events(ctx, w.id, w.Cursor, 1000)
		if err != nil {
			return err
		}
		for _, e := range p.Items {
			if err := w.show(ctx, e); err != nil {
				return err
			}
		}
		w.Cursor = p.NextCursor
		if p.UpToDate {
			break
		}
	}
	if err := w.showLaterSteps(ctx); err != nil {
		return err
	}
	lookup.PrintIdle(ctx, w.RunConn.App, w.Conn, x)
	return w.ShowResult(ctx)
}

// showInput shows the input of a run. It does nothing for the react agent, whose conversation
// contains the input.
func showInput(ctx context.Context, conn *connection.Conn, x *perdure.Execution, text *terminal.TextView) error {
	if x.Kind == perdure.ReactKind {
		return nil
	}
	if err := lookup.FetchInput(ctx, conn, x); err != nil {
		return err
	}
	text.Input(x.Input, x.PersistenceMode == perdure.Local)
	return nil
}
