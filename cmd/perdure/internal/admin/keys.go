package admin

import (
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newKeysCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Make, list, limit and revoke API keys", GroupID: "keep",
		Example: "  perdure keys create --role admin me\n  perdure keys list\n  perdure keys revoke 0199d7e2-...",
		Long: `API keys let clients and workers use a server. A key has a role: client starts and
reads runs, worker runs them, approver reads the questions of runs and answers
them, admin does all, keys too. Only an admin may use this command; who owns the
data directory is one.`,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysCreateCommand(a), newListCommand(a, "keys", "List the keys, revoked ones too", (*client.Client).Keys, printKeys), newKeysSetCommand(a), newKeysRevokeCommand(a))
	return cmd
}

func newKeysCreateCommand(a *setup.App) *cobra.Command {
	var (
		role   string
		limits keyLimits
	)
	roles := []string{string(perdure.KeyAdmin), string(perdure.KeyClient), string(perdure.KeyWorker), string(perdure.KeyApprover)}
	cmd := &cobra.Command{
		Use: "create NAME --role ROLE", Short: "Make a key and print its secret, this once",
		Long: `Makes an API key with a name and prints its secret on standard output. The secret is
not stored and cannot be shown again. The role is admin (everything), client (start
and read runs), worker (run them) or approver (read and answer questions).`,
		Example: "  perdure keys create --role worker build-machine\n  perdure keys create --role client --requests-per-second 20 --max-running 50 --max-stored 2G shop",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(roles, role) {
				return setup.NewUsageError(fmt.Sprintf("--role %q is unknown", role), "it is admin, client, worker or approver")
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				key, err := conn.NewKey(cmd.Context(), client.KeyRequest{Name: args[0], Role: perdure.KeyRole(role), Limits: limits.all()})
				if err != nil {
					return err
				}
				return printNewKey(a, key)
			})
		},
	}
	cmd.Flags().StringVar(&role, "role", "", "admin, client, worker or approver (required)")
	limits.flags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("role", cobra.FixedCompletions(roles, cobra.ShellCompDirectiveNoFileComp))
	a.JSONFlag(cmd)
	return cmd
}

// printNewKey prints only the secret to standard output, for use in a pipe. With --json it prints
// the whole key.
func printNewKey(a *setup.App, key *client.NewKey) error {
	if a.JSON {
		return a.Stdout.PrintJSON(key)
	}
	_ = a.Stderr.Linef("key %s (%s, %s); this is the only time that its secret is shown:", key.Name, key.Role, key.ID)
	_, err := fmt.Fprintln(a.Stdout, key.Key)
	return err
}

func printKeys(a *setup.App, keys []*perdure.APIKey) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[*perdure.APIKey]{Items: keys})
	}
	if len(keys) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no keys")
		return err
	}
	t := terminal.Table{Columns: []terminal.Column{
		{Head: "ID"},
		{Head: "ROLE"},
		{Head: "MADE", Omit: 4},
		{Head: "REVOKED", Omit: 1, Style: revokedStyle},
		{Head: "REQUESTS/S", Omit: 5},
		{Head: "RUNNING", Omit: 2},
		{Head: "STORED", Omit: 3},
		{Head: "NAME", Cut: true},
	}}
	for _, k := range keys {
		revoked := "-"
		if k.RevokedAt != nil {
			revoked = k.RevokedAt.Local().Format(terminal.TimeFormat)
		}
		requests, running, stored := useText(k)
		t.Add(k.ID.String(), string(k.Role), k.CreatedAt.Local().Format(terminal.TimeFormat), revoked, requests, running, stored, k.Name)
	}
	return t.Print(a.Stdout)
}

func revokedStyle(cell string) terminal.Style {
	if cell == "-" {
		return terminal.StyleNone
	}
	return terminal.StyleWarn
}

func newKeysRevokeCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "Revoke a key; it is refused within 5 s", Args: cobra.ExactArgs(1),
		Example: "  perdure keys revoke 0199d7e2-...",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return setup.NewUsageError(args[0]+" is no id of a key", "perdure keys list shows them")
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				key, err := conn.RevokeKey(cmd.Context(), id)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Stdout.PrintJSON(key)
				}
				err = a.Stdout.Linef("key %s (%s) is revoked", key.Name, key.ID)
				return err
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}
