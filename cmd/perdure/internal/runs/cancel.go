package runs

import (
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

func newCancelCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "cancel ID", Short: "End a run", GroupID: "runs",
		Example: "  perdure cancel last\n  perdure cancel 0199d7e2-...",
		Long:    "Cancels a run and all that it has started. A run that works has 30 s\nto end by itself. One that has ended stays as it is. ID may be \"last\".",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: lookup.Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return connection.Request(ctx, a, func(conn *connection.Conn) error {
				x, err := lookup.Find(ctx, conn.Client, args[0])
				if err != nil {
					return err
				}
				if x, err = conn.Cancel(ctx, x.ID); err != nil {
					return err
				}
				return printExecution(a, x, func() {
					_ = a.Stdout.Linef("run %s is %s", x.ID, lookup.StatusWord(x))
				})
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}
