package admin

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newSessionsCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List and end the sign-ins of browsers", GroupID: "keep",
		Example: "  perdure sessions list\n  perdure sessions revoke 0199d7e2-...",
		Long: `A session is one sign-in of a browser. It lasts 12 hours, and ends with its key. An
admin's key sees those of its org, a client's key its own; who owns the data
directory sees those made with its token, too.`,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newListCommand(a, "sessions", "List the sessions that have not ended", (*client.Client).Sessions, printSessions), newSessionsRevokeCommand(a))
	return cmd
}

func printSessions(a *setup.App, sessions []*perdure.Session) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[*perdure.Session]{Items: sessions})
	}
	if len(sessions) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no sessions")
		return err
	}
	t := terminal.Table{Columns: []terminal.Column{
		{Head: "ID"},
		{Head: "SIGNED IN", Omit: 3},
		{Head: "EXPIRES", Omit: 1},
		{Head: "FROM", Omit: 2},
		{Head: "KEY"},
		{Head: "BROWSER", Cut: true},
	}}
	for _, s := range sessions {
		t.Add(s.ID.String(), s.CreatedAt.Local().Format(terminal.TimeFormat), s.ExpiresAt.Local().Format(terminal.TimeFormat), s.RemoteAddress, s.KeyName, s.UserAgent)
	}
	return t.Print(a.Stdout)
}

func newSessionsRevokeCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "End a session; it stops within 5 s", Args: cobra.ExactArgs(1),
		Example: "  perdure sessions revoke 0199d7e2-...",
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return setup.NewUsageError(args[0]+" is no id of a session", "perdure sessions list shows them")
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				session, err := conn.RevokeSession(cmd.Context(), id)
				if err != nil {
					return err
				}
				if a.JSON {
					return a.Stdout.PrintJSON(session)
				}
				_, err = fmt.Fprintf(a.Stdout, "session %s of the key %s has ended\n", session.ID, session.KeyName)
				return err
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}
