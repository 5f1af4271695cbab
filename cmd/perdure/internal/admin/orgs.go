package admin

import (
	"context"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newOrgsCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "orgs", Short: "Create, list, disable and enable orgs", GroupID: "keep",
		Example: "  perdure orgs create acme\n  perdure orgs list\n  perdure orgs disable acme",
		Long: `An org is a tenant: its runs, definitions, keys and streams are invisible to all
others. Every store has the org "default".

These commands are an operator's: whoever has the data directory, or with --store
the database. With --org ORG an operator uses the commands for runs, definitions,
keys, retention and the audit log in an org, and makes the org's first key:

  perdure orgs create acme
  perdure keys create --org acme --role admin boss`,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newListCommand(a, "orgs", "List the orgs, disabled ones too", (*client.Client).Orgs, printOrgs),
		newOrgCommand(a, "create ID", "Create an org", "is created", (*client.Client).CreateOrg),
		newOrgCommand(a, "disable ID", "Refuse an org's keys, end its streams and stop its claims, within 5 s; its rows stay", "is disabled", (*client.Client).DisableOrg),
		newOrgCommand(a, "enable ID", "Let a disabled org work again, with the keys that it had", "is enabled", (*client.Client).EnableOrg),
	)
	return cmd
}

// newOrgCommand returns a command that changes one org.
func newOrgCommand(a *setup.App, use, short, done string, change func(*client.Client, context.Context, string) (*perdure.Org, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		Example: "  perdure orgs " + strings.Replace(use, "ID", "acme", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				org, err := change(conn.Client, cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Stdout.PrintJSON(org)
				}
				err = a.Stdout.Linef("org %s %s", org.ID, done)
				return err
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

func printOrgs(a *setup.App, orgs []*perdure.Org) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[*perdure.Org]{Items: orgs})
	}
	t := terminal.Table{Columns: []terminal.Column{{Head: "ORG"}, {Head: "MADE"}, {Head: "DISABLED", Style: revokedStyle}}}
	for _, o := range orgs {
		disabled := "-"
		if o.DisabledAt != nil {
			disabled = o.DisabledAt.Local().Format(terminal.TimeFormat)
		}
		t.Add(o.ID, o.CreatedAt.Local().Format(terminal.TimeFormat), disabled)
	}
	return t.Print(a.Stdout)
}
