package main

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

func (a *app) keysCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Make, list, limit and revoke API keys", GroupID: "keep",
		Long: `API keys let clients and workers use a server. A key has a role: client starts and
reads runs, worker runs them, admin does all, keys too. Only an admin may use
this command; who owns the data directory is one.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.keysCreateCommand(), a.keysListCommand(), a.keysSetCommand(), a.keysRevokeCommand())
	return cmd
}

func (a *app) keysCreateCommand() *cobra.Command {
	var (
		role   string
		limits keyLimits
	)
	roles := []string{string(perdure.KeyAdmin), string(perdure.KeyClient), string(perdure.KeyWorker)}
	cmd := &cobra.Command{
		Use: "create NAME --role ROLE", Short: "Make a key and print its secret, this once",
		Example: "  perdure keys create --role worker build-machine\n  perdure keys create --role client --requests-per-second 20 --max-running 50 --max-stored 2G shop",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(roles, role) {
				return usageError{fmt.Sprintf("--role %q is unknown", role), "it is admin, client or worker"}
			}
			return a.look(cmd.Context(), func(l *link) error {
				key, err := l.NewKey(cmd.Context(), client.KeyRequest{Name: args[0], Role: perdure.KeyRole(role), Limits: limits.all()})
				if err != nil {
					return err
				}
				return a.printNewKey(key)
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "admin, client or worker (required)")
	limits.flags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(roles, cobra.ShellCompDirectiveNoFileComp))
	a.jsonFlag(cmd)
	return cmd
}

// printNewKey prints only the secret to standard output, for use in a pipe.
func (a *app) printNewKey(key *client.NewKey) error {
	if a.json {
		return a.printJSON(key)
	}
	_ = a.stderr.say("key %s (%s, %s); this is the only time that its secret is shown:", key.Name, key.Role, key.ID)
	_, err := fmt.Fprintln(a.stdout, key.Key)
	return err
}

func (a *app) keysListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the keys, revoked ones too", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.read(cmd.Context(), func(l *link) error {
				keys := []*perdure.APIKey{}
				for key, err := range l.Keys(cmd.Context()) {
					if err != nil {
						return err
					}
					keys = append(keys, key)
				}
				return a.printKeys(keys)
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) printKeys(keys []*perdure.APIKey) error {
	if a.json {
		return a.printJSON(client.Page[*perdure.APIKey]{Items: keys})
	}
	if len(keys) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no keys")
		return err
	}
	t := table{columns: []column{
		{head: "ID"},
		{head: "ROLE"},
		{head: "MADE", spare: 4},
		{head: "REVOKED", spare: 1, style: revokedStyle},
		{head: "REQUESTS/S", spare: 5},
		{head: "RUNNING", spare: 2},
		{head: "STORED", spare: 3},
		{head: "NAME", cut: true},
	}}
	for _, k := range keys {
		revoked := "-"
		if k.RevokedAt != nil {
			revoked = k.RevokedAt.Local().Format(shortTime)
		}
		requests, running, stored := useText(k)
		t.add(k.ID.String(), string(k.Role), k.CreatedAt.Local().Format(shortTime), revoked, requests, running, stored, k.Name)
	}
	return t.write(newPage(a.stdout))
}

func revokedStyle(cell string) style {
	if cell == "-" {
		return styleNone
	}
	return styleWarn
}

func (a *app) keysRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "End a key; it stops within 5 s", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usageError{args[0] + " is no id of a key", "perdure keys list shows them"}
			}
			return a.look(cmd.Context(), func(l *link) error {
				key, err := l.RevokeKey(cmd.Context(), id)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(key)
				}
				err = a.stdout.say("key %s (%s) is revoked", key.Name, key.ID)
				return err
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}
