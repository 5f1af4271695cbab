package main

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

func (a *app) sessionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List and end the sign-ins of browsers", GroupID: "keep",
		Long: `A session is one sign-in of a browser. It lasts 12 hours, and ends with its key. An
admin's key sees those of its org, a client's key its own; who owns the data
directory sees those made with its token, too.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.sessionsListCommand(), a.sessionsRevokeCommand())
	return cmd
}

func (a *app) sessionsListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the sessions that go on", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.read(cmd.Context(), func(l *link) error {
				sessions := []*perdure.Session{}
				for session, err := range l.Sessions(cmd.Context()) {
					if err != nil {
						return err
					}
					sessions = append(sessions, session)
				}
				return a.printSessions(sessions)
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) printSessions(sessions []*perdure.Session) error {
	if a.json {
		return a.printJSON(client.Page[*perdure.Session]{Items: sessions})
	}
	if len(sessions) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no sessions")
		return err
	}
	t := table{columns: []column{
		{head: "ID"},
		{head: "SIGNED IN", spare: 3},
		{head: "EXPIRES", spare: 1},
		{head: "FROM", spare: 2},
		{head: "KEY"},
		{head: "BROWSER", cut: true},
	}}
	for _, s := range sessions {
		t.add(s.ID.String(), s.CreatedAt.Local().Format(shortTime), s.ExpiresAt.Local().Format(shortTime), s.RemoteAddress, s.KeyName, s.UserAgent)
	}
	return t.write(newPage(a.stdout))
}

func (a *app) sessionsRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "revoke ID", Short: "End a session; it stops within 5 s", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := uuid.Parse(args[0])
			if err != nil {
				return usageError{args[0] + " is no id of a session", "perdure sessions list shows them"}
			}
			return a.look(cmd.Context(), func(l *link) error {
				session, err := l.RevokeSession(cmd.Context(), id)
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(session)
				}
				_, err = fmt.Fprintf(a.stdout, "session %s of the key %s has ended\n", session.ID, session.KeyName)
				return err
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}
