package runs

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
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
		Args: cobra.ExactArgs(1), ValidArgsFunction: lookup.Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := len(q.Instructions); n > perdure.MaxCompactionInstructions {
				return setup.NewUsageError(fmt.Sprintf("--instructions has %d bytes; the limit is %d", n, perdure.MaxCompactionInstructions), "")
			}
			ctx := cmd.Context()
			return connection.Request(ctx, a, func(conn *connection.Conn) error {
				x, err := lookup.Find(ctx, conn.Client, args[0])
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
