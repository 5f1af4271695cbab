package runs

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newCompactCommand(a *setup.App) *cobra.Command {
	var q client.CompactRequest
	cmd := &cobra.Command{
		Use: "compact ID", Short: "Replace the older part of a conversation by a summary for the model", GroupID: "runs",
		Long: `Asks a run of the react agent to compact its conversation. The model then sees a
summary of the older part, and the newest turns unchanged. Nothing is deleted:
"perdure show ID" shows all messages, and the summary between them.

A run that works compacts before its next model call; a run that waits for you
compacts at once. The conversation is also compacted automatically before it fills
the model's window. ID may be "last".`,
		Example: `  perdure compact last
  perdure compact last --instructions "Keep every file name and the open questions"
  perdure context last          # what the model sees now`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: completeRuns(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := len(q.Instructions); n > perdure.MaxCompactionInstructions {
				return setup.NewUsageError(fmt.Sprintf("--instructions has %d bytes; the limit is %d", n, perdure.MaxCompactionInstructions), "")
			}
			ctx := cmd.Context()
			return connection.Request(ctx, a, func(conn *connection.Conn) error {
				x, err := findRun(ctx, conn.Client, args[0])
				if err != nil {
					return err
				}
				q.IdempotencyKey = uuid.NewString()
				reply, err := conn.Compact(ctx, x.ID, q)
				if err != nil {
					return err
				}
				return printSignal(cmd.Context(), a, conn, x, reply)
			})
		},
	}
	cmd.Flags().StringVar(&q.Instructions, "instructions", "", "what the summary must pay attention to (at most 4 KiB)")
	a.JSONFlag(cmd)
	return cmd
}

func newContextCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "context ID", Short: "Show what the model sees of a conversation", GroupID: "runs",
		Long: `Shows what the next model call of a run is asked with, apart from the system prompt
and the tools: the whole conversation, or after a compaction the pinned messages,
the summary, and what follows. The last line counts what is left out. ID may be
"last".`,
		Example: "  perdure context last\n  perdure context last --json | jq .leftOut",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: completeRuns(a),
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
	x, err := findRun(ctx, conn.Client, arg)
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
