package serving

import (
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/server"
	"github.com/spf13/cobra"
)

func newMigrateCommand(a *setup.App) *cobra.Command {
	return &cobra.Command{
		Use: "migrate --store URL", Short: "Bring the tables of a database up to date", GroupID: "serve",
		Long: `Makes the tables of a database, or changes those of an older version. A server
does so itself when it starts. Use this where the server's database user may not
change tables, with a user who may.`,
		Example: "  perdure migrate --store postgres://owner@db/perdure",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.Store == "" {
				return setup.NewUsageError("there is no database to change", "give one with --store postgres://... or PERDURE_STORE")
			}
			from, to, err := server.Migrate(cmd.Context(), a.Store)
			if err != nil {
				return err
			}
			if from == to {
				_ = a.Stderr.Linef("the tables have version %d already", to)
			} else {
				_ = a.Stderr.Linef("the tables had version %d and have version %d now", from, to)
			}
			return nil
		},
	}
}
