package admin

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/server"
	"github.com/spf13/cobra"
)

func newStoreCopyCommand(a *setup.App) *cobra.Command {
	var from, to string
	var keep bool
	cmd := &cobra.Command{
		Use: "copy --to URL", Short: "Move everything from a file to PostgreSQL",
		Long: `Copies everything of an embedded store into a PostgreSQL database in which nothing
is stored yet, compares both, and closes the file for good: start servers with
--store URL from then on. Runs and readers continue where they are, and keys stay
valid. With --keep the file stays in use, and the copy is another store.

No server may run on either side. After an interrupt call it again: it continues
where it was, or starts again if the file has been used since. Until it has ended
the file is unchanged, and no server starts on the database.`,
		Example: `  perdure store copy --to postgres://perdure@db/perdure
  perdure store copy --from sqlite:/backups/perdure.db --to postgres://perdure@test/perdure --keep`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if to == "" {
				return setup.NewUsageError("there is no database to copy to", "give one with --to postgres://... or PERDURE_TO")
			}
			file, err := copySource(a, from)
			if err != nil {
				return err
			}
			return copyStore(cmd.Context(), a, server.CopyConfig{From: file, To: to, Keep: keep, Logger: a.Logger(slog.LevelWarn)})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the store to copy, sqlite:FILE; default: that of the data directory")
	cmd.Flags().StringVar(&to, "to", "", "the database, postgres://..., in which nothing is stored (required)")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the file in use; the copy is another store, whose readers begin anew")
	return cmd
}

func copySource(a *setup.App, from string) (string, error) {
	if from == "" {
		return embeddedFile(a)
	}
	file, ok := strings.CutPrefix(from, "sqlite:")
	if !ok || file == "" {
		return "", setup.NewUsageError("--from "+from+" is no file of a store", "give sqlite:FILE")
	}
	abs, err := filepath.Abs(file)
	return abs, err
}

func copyStore(ctx context.Context, a *setup.App, c server.CopyConfig) error {
	line := a.Stderr.Progress()
	c.Told = func(p server.CopyProgress) {
		switch {
		case p.Step == server.StepCompare && !p.Done:
			line.Update("comparing %s: %d rows", p.Table, p.Rows)
		case p.Step == server.StepCompare && p.Mended > 0:
			line.End("  %-26s %10d rows, the same but for %d texts that were not UTF-8: U+FFFD stands in them", p.Table, p.Rows, p.Mended)
		case p.Step == server.StepCompare:
			line.End("  %-26s %10d rows, the same", p.Table, p.Rows)
		default:
			line.Update("copying %s: %d rows, %s", p.Table, p.Rows, terminal.Mebibytes(p.Bytes))
		}
	}
	r, err := server.CopyStore(ctx, c)
	if err != nil {
		return explainOwner(err)
	}
	switch {
	case r.Already:
		line.End("everything is there already; start servers with --store")
	case c.Keep:
		line.End("everything is there; %s stays in use, and the copy is another store", c.From)
	default:
		line.End("everything is there; start servers with --store. %s is closed", c.From)
	}
	return nil
}
