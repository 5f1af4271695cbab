package lookup

import (
	"context"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// NewContextCommand returns the command that shows what the model sees of a run.
func NewContextCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "context ID", Short: "Show what the model sees of a conversation", GroupID: "runs",
		Long: `Shows what the next model call of a run is asked with, apart from the system prompt
and the tools: the whole conversation, or after a compaction the pinned messages,
the summary, and what follows. The last line counts what is left out. ID may be
"last".`,
		Example: "  perdure context last\n  perdure context last --json | jq .leftOut",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error {
				return showContext(cmd.Context(), a, conn, args[0])
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

func showContext(ctx context.Context, a *setup.App, conn *connection.Conn, arg string) error {
	x, err := Find(ctx, conn.Client, arg)
	if err != nil {
		return err
	}
	seen, err := conn.Context(ctx, x.ID)
	if err != nil {
		return err
	}
	return printContext(a, seen)
}

func printContext(a *setup.App, seen *client.Context) error {
	if a.JSON {
		return a.Stdout.PrintJSON(seen)
	}
	v := terminal.NewTextView(a.Streams, a.ServerFlags)
	entries := make([]perdure.Entry, len(seen.Entries))
	for i, e := range seen.Entries {
		entries[i] = e.Entry
	}
	v.AddEntries(entries)
	for _, e := range entries {
		if err := v.Entry(e); err != nil {
			return err
		}
	}
	leftOut := 0
	for _, l := range seen.LeftOut {
		leftOut += l.Entries
	}
	v.Note(fmt.Sprintf("(%d entries; %d left out)", len(entries), leftOut))
	return nil
}
