package main

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

func (a *app) orgsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "orgs", Short: "Create, list, disable and enable orgs", GroupID: "keep",
		Long: `An org is a tenant: its runs, definitions, keys and streams are invisible to all
others. Every store has the org "default".

These commands are an operator's: whoever has the data directory, or with --store
the database. With --org ORG an operator uses the commands for runs, definitions,
keys, retention and the audit log in an org, and makes the org's first key:

  perdure orgs create acme
  perdure keys create --org acme --role admin boss`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.orgsListCommand(),
		a.orgCommand("create ID", "Create an org", "is created", (*client.Client).CreateOrg),
		a.orgCommand("disable ID", "Refuse an org's keys, end its streams and stop its claims, within 5 s; its rows stay", "is disabled", (*client.Client).DisableOrg),
		a.orgCommand("enable ID", "Let a disabled org work again, with the keys that it had", "is enabled", (*client.Client).EnableOrg),
	)
	return cmd
}

// orgCommand returns a command that changes one org.
func (a *app) orgCommand(use, short, done string, change func(*client.Client, context.Context, string) (*perdure.Org, error)) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), func(l *link) error {
				org, err := change(l.Client, cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(org)
				}
				err = a.stdout.say("org %s %s", org.ID, done)
				return err
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) orgsListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the orgs, disabled ones too", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.read(cmd.Context(), func(l *link) error {
				orgs := []*perdure.Org{}
				for org, err := range l.Orgs(cmd.Context()) {
					if err != nil {
						return err
					}
					orgs = append(orgs, org)
				}
				return a.printOrgs(orgs)
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) printOrgs(orgs []*perdure.Org) error {
	if a.json {
		return a.printJSON(client.Page[*perdure.Org]{Items: orgs})
	}
	t := table{columns: []column{{head: "ORG"}, {head: "MADE"}, {head: "DISABLED", style: revokedStyle}}}
	for _, o := range orgs {
		disabled := "-"
		if o.DisabledAt != nil {
			disabled = o.DisabledAt.Local().Format(shortTime)
		}
		t.add(o.ID, o.CreatedAt.Local().Format(shortTime), disabled)
	}
	return t.write(newPage(a.stdout))
}

// orgOr returns the org of the command.
func (a *app) orgOr() string {
	if a.org == "" {
		return perdure.DefaultOrg
	}
	return a.org
}

// withoutOrg are the commands, including their subcommands, to which no org applies.
var withoutOrg = []string{"dev", "server", "migrate", "ready", "store", "bench", "orgs", "version"}

// checkOrg refuses --org for a command that would ignore it.
func (a *app) checkOrg(cmd *cobra.Command) error {
	if a.org == "" {
		return nil
	}
	for c := cmd; c.HasParent(); c = c.Parent() {
		if !c.Parent().HasParent() && slices.Contains(withoutOrg, c.Name()) {
			return usageError{"perdure " + c.Name() + " is not about one org", "leave out --org, and unset PERDURE_ORG"}
		}
	}
	return nil
}
