package admin

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

func newRetentionCommand(a *setup.App) *cobra.Command {
	var periods struct{ executions, checkpoints, logs string }
	cmd := &cobra.Command{
		Use: "retention", Short: "Show or change how long runs are kept", GroupID: "keep",
		Long: `Shows how long ended runs, old checkpoints and logs are kept. With a flag it changes
that for the whole org, existing runs included; what no flag names stays as it is.
A sweep each minute deletes what has expired; "perdure runs prune --dry-run" counts
that beforehand. Definitions may have other periods for their runs. Only an admin
may change it; whoever owns the data directory is one.`,
		Example: "  perdure retention\n  perdure retention --executions 30d --logs 7d\n  perdure retention --executions forever",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var change perdure.Retention
			for _, one := range []struct {
				flag, text string
				into       **perdure.Period
			}{
				{"executions", periods.executions, &change.Executions},
				{"checkpoints", periods.checkpoints, &change.Checkpoints},
				{"logs", periods.logs, &change.Logs},
			} {
				if !cmd.Flags().Changed(one.flag) {
					continue
				}
				p, err := perdure.ParsePeriod(one.text)
				if err != nil {
					return setup.NewUsageError(fmt.Sprintf("--%s %q is no period", one.flag, one.text), "write it like 30d, 12h or forever")
				}
				*one.into = &p
			}
			run := func(conn *connection.Conn) error {
				kept, err := conn.Retention(cmd.Context())
				if err == nil && change != (perdure.Retention{}) {
					kept, err = conn.SetRetention(cmd.Context(), (perdure.Retention{
						Executions: &kept.Executions, Checkpoints: &kept.Checkpoints, Logs: &kept.Logs,
					}).Merge(change))
				}
				if err != nil {
					return err
				}
				return printRetention(a, kept)
			}
			if change == (perdure.Retention{}) {
				return connection.Read(cmd.Context(), a, run)
			}
			return connection.Request(cmd.Context(), a, run)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&periods.executions, "executions", "", "how long runs are kept after their end, like 30d, 12h or forever")
	flags.StringVar(&periods.checkpoints, "checkpoints", "", "how long checkpoints are kept that others have followed")
	flags.StringVar(&periods.logs, "logs", "", "how long events are kept after the end of their run")
	a.JSONFlag(cmd)
	return cmd
}

func printRetention(a *setup.App, r *client.Retention) error {
	if a.JSON {
		return a.Stdout.PrintJSON(r)
	}
	by := ""
	if !r.Set {
		by = "   (the default)"
	}
	err := a.Stdout.Linef("runs         %s%s\ncheckpoints  %s\nlogs         %s", r.Executions, by, r.Checkpoints, r.Logs)
	return err
}
