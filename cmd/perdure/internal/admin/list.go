package admin

import (
	"context"
	"iter"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// newListCommand returns a command that prints all items of a list. The parameter `of` is the name
// of its parent command, for example "queues".
func newListCommand[T any](a *setup.App, of, short string, list func(*client.Client, context.Context) iter.Seq2[T, error], show func(*setup.App, []T) error) *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: short, Args: cobra.NoArgs, Example: "  perdure " + of + " list\n  perdure " + of + " list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error {
				all := []T{}
				for item, err := range list(conn.Client, cmd.Context()) {
					if err != nil {
						return err
					}
					all = append(all, item)
				}
				return show(a, all)
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}
