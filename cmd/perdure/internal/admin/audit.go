package admin

import (
	"fmt"
	"text/tabwriter"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newAuditCommand(a *setup.App) *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "audit", Short: "Show who changed keys, definitions, retention and the org", GroupID: "keep", Args: cobra.NoArgs,
		Example: "  perdure audit\n  perdure audit --limit 200 --json",
		Long: `Shows the newest changes of keys, definitions, retention and the org: when, who,
what, from where, and its hash before and after (of retention only after). Only an
admin may.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error {
				records := []perdure.AuditRecord{}
				for r, err := range conn.Audit(cmd.Context()) {
					if err != nil {
						return err
					}
					if records = append(records, r); len(records) == limit {
						break
					}
				}
				return printAudit(a, records)
			})
		},
	}
	setup.CountFlag(cmd.Flags(), &limit, "limit", "n", 50, 1, setup.Unbounded, "how many at most")
	a.JSONFlag(cmd)
	return cmd
}

func printAudit(a *setup.App, records []perdure.AuditRecord) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[perdure.AuditRecord]{Items: records})
	}
	if len(records) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no changes")
		return err
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHEN\tWHO\tWHAT\tOF\tBEFORE\tAFTER\tFROM\tREQUEST")
	for _, r := range records {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", terminal.InlineArgs([]any{
			r.At.Local().Format(terminal.TimeFormat), actorText(r.Actor), r.Action, subjectText(r),
			shortHash(r.Before), shortHash(r.After), terminal.OrDash(r.Actor.RemoteAddress), terminal.OrDash(r.Actor.RequestID),
		})...)
	}
	return w.Flush()
}

func actorText(a perdure.Actor) string {
	if a.KeyID == nil {
		return a.Name
	}
	return a.Name + " (" + a.KeyID.String() + ")"
}

func subjectText(r perdure.AuditRecord) string {
	if r.SubjectID == nil {
		return "the org"
	}
	return r.SubjectName + " (" + r.SubjectID.String() + ")"
}

// shortHash returns the beginning of a hash, long enough for people to compare.
func shortHash(sum string) string {
	if len(sum) > 12 {
		sum = sum[:12]
	}
	return terminal.OrDash(sum)
}
