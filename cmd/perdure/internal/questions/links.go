package questions

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newLinkCommand(a *setup.App) *cobra.Command {
	var (
		key    string
		life   time.Duration
		revoke bool
	)
	cmd := &cobra.Command{
		Use: "link ID --key-id KEY", Short: "Make a link with which a key answers a question without signing in",
		Long: `Makes a link to a question and prints its address, this once. Whoever opens it sees
the question and answers it as the key does; so give it only to the key's owner. It
works once. It also ends when it expires, when the key is revoked, when the question
is changed, and with --revoke. Only an admin may make links.`,
		Example: `  perdure questions link 7c9e6679-... --key-id 0199d7e5-...
  perdure questions link 7c9e6679-... --key-id 0199d7e5-... --expires 2h
  perdure questions link 7c9e6679-... --revoke`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := parseID("question", "perdure questions", args[0])
			if err != nil {
				return err
			}
			var of *uuid.UUID
			if key != "" {
				voter, err := parseID("key", "perdure keys list", key)
				if err != nil {
					return err
				}
				of = &voter
			}
			if of == nil && !revoke {
				return setup.NewUsageError("no key is named", "give --key-id; perdure keys list shows the ids")
			}
			ctx := cmd.Context()
			return connection.Request(ctx, a, func(conn *connection.Conn) error {
				if revoke {
					if err := conn.RevokeQuestionLinks(ctx, id, of); err != nil {
						return err
					}
					return a.Stdout.Linef("the links to question %s are revoked", id)
				}
				link, err := conn.CreateQuestionLink(ctx, id, *of, life)
				if err != nil {
					return err
				}
				return printLink(a, link)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&key, "key-id", "", "id of the key that answers")
	f.DurationVar(&life, "expires", perdure.LinkLife, "how long the link works, at most 168h")
	f.BoolVar(&revoke, "revoke", false, "revoke the links to the question: those of --key-id, or all")
	cmd.MarkFlagsMutuallyExclusive("expires", "revoke")
	a.JSONFlag(cmd)
	return cmd
}

// printLink prints only the address to standard output, for use in a pipe. With --json it prints the
// whole link.
func printLink(a *setup.App, l *client.NewQuestionLink) error {
	if a.JSON {
		return a.Stdout.PrintJSON(l)
	}
	_ = a.Stderr.Linef("a link of key %s, until %s; this is the only time that it is shown:", l.KeyID, l.ExpiresAt.Local().Format(terminal.TimeFormat))
	_, err := fmt.Fprintln(a.Stdout, l.URL)
	return err
}
