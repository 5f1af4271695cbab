package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

func (a *app) auditCommand() *cobra.Command {
	limit := 50
	cmd := &cobra.Command{
		Use: "audit", Short: "Show who changed keys, definitions, retention and the org", GroupID: "keep", Args: cobra.NoArgs,
		Long: `Shows the newest changes of keys, definitions, retention and the org: when, who,
what, from where, and its hash before and after (of retention only after). Only an
admin may.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return usageError{"--limit must be at least 1", ""}
			}
			return a.read(cmd.Context(), func(l *link) error {
				records := []perdure.AuditRecord{}
				for r, err := range l.Audit(cmd.Context()) {
					if err != nil {
						return err
					}
					if records = append(records, r); len(records) == limit {
						break
					}
				}
				return a.printAudit(records)
			})
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "how many at most")
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) printAudit(records []perdure.AuditRecord) error {
	if a.json {
		return a.printJSON(client.Page[perdure.AuditRecord]{Items: records})
	}
	if len(records) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no changes")
		return err
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHEN\tWHO\tWHAT\tOF\tBEFORE\tAFTER\tFROM\tREQUEST")
	for _, r := range records {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", inlined([]any{
			r.At.Local().Format(shortTime), who(r.Actor), r.Action, subject(r),
			short(r.Before), short(r.After), dash(r.Actor.RemoteAddress), dash(r.Actor.RequestID),
		})...)
	}
	return w.Flush()
}

func who(a perdure.Actor) string {
	if a.KeyID == nil {
		return a.Name
	}
	return a.Name + " (" + a.KeyID.String() + ")"
}

func subject(r perdure.AuditRecord) string {
	if r.SubjectID == nil {
		return "the org"
	}
	return r.SubjectName + " (" + r.SubjectID.String() + ")"
}

// short returns the beginning of a hash, long enough for people to compare.
func short(sum string) string {
	if len(sum) > 12 {
		sum = sum[:12]
	}
	return dash(sum)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
