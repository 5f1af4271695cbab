package questions

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newGrantsCommand(a *setup.App) *cobra.Command {
	var (
		run  string
		page client.PageOptions
	)
	cmd := &cobra.Command{
		Use: "grants", Short: "List the approvals that are remembered, and revoke them", GroupID: "runs",
		Long: `Lists the approvals that also answer later questions, newest first: those given with
perdure answer --remember, with r in the terminal, or in the web page. A grant ends
after 30 days, unless the answer named another time.`,
		Example: `  perdure grants
  perdure grants --run 0199d7e2-...
  perdure grants revoke 0199d7e5-...`,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return connection.Read(ctx, a, func(conn *connection.Conn) error {
				of, err := lookup.FindID(ctx, conn.Client, run)
				if err != nil {
					return err
				}
				f := client.GrantFilter{ExecutionID: of}
				p, err := conn.GrantsPage(ctx, f, page)
				if err != nil {
					return err
				}
				return printGrants(a, p)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&run, "run", "", "only those of the run with this id, or \"last\"")
	_ = cmd.RegisterFlagCompletionFunc("run", lookup.Complete(a))
	setup.CountFlag(f, &page.Limit, "limit", "", 50, 1, 1000, "how many at most, to 1000")
	f.StringVar(&page.Cursor, "cursor", "", "continue with the nextCursor of an earlier list")
	a.JSONFlag(cmd)
	cmd.AddCommand(newRevokeGrantCommand(a))
	return cmd
}

func printGrants(a *setup.App, p client.Page[*perdure.ApprovalGrant]) error {
	if a.JSON {
		return a.Stdout.PrintJSON(p)
	}
	if len(p.Items) == 0 && p.NextCursor == nil {
		_, err := fmt.Fprintln(a.Stdout, "no grants")
		return err
	}
	t := terminal.Table{Columns: []terminal.Column{
		{Head: "ID"},
		{Head: "SCOPE"},
		{Head: "OF", Omit: 2},
		{Head: "UNTIL", Omit: 3},
		{Head: "BY", Omit: 4, Cut: true},
		{Head: "CALLS", Omit: 1, Cut: true},
	}}
	for _, g := range p.Items {
		of, calls := g.ExecutionID, g.Subject+", every call"
		if g.Scope == perdure.GrantDefinition {
			of = g.DefinitionID
		}
		if g.Match == perdure.GrantExact {
			calls = g.Subject + ", call " + g.DetailsSHA256.String()[:12]
		}
		t.Add(g.ID.String(), string(g.Scope), fmt.Sprint(of), g.ExpiresAt.Local().Format(terminal.TimeFormat), strings.Join(g.Voters, ", "), calls)
	}
	if err := t.Print(a.Stdout); err != nil {
		return err
	}
	if p.NextCursor != nil {
		_, err := fmt.Fprintln(a.Stdout, "more: --cursor "+*p.NextCursor)
		return err
	}
	return nil
}

func newRevokeGrantCommand(a *setup.App) *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "Revoke a grant: later questions are asked again",
		Long: `Revokes a grant. When the command returns, no later call runs by it. A call that it
has already approved runs.`,
		Example: "  perdure grants revoke 0199d7e5-...",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("grant", "perdure grants", args[0])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			return connection.Request(ctx, a, func(conn *connection.Conn) error {
				if err := conn.RevokeGrant(ctx, id); err != nil {
					return err
				}
				return a.Stdout.Linef("grant %s is revoked", id)
			})
		},
	}
}
