package admin

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/server"
	"github.com/spf13/cobra"
)

func newStoreCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Back up, check and move what is stored", GroupID: "keep",
		Example: "  perdure store backup /backups/perdure.db\n  perdure store check\n  perdure store copy --to postgres://perdure@db/perdure",
		Args:    setup.NoCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newStoreBackupCommand(a), newStoreRestoreCommand(a), newStoreCheckCommand(a), newStoreCopyCommand(a))
	return cmd
}

// storeFile returns the path of the embedded store in the data directory. It refuses --server.
func storeFile(a *setup.App) (string, error) {
	if a.Server != "" {
		return "", setup.NewUsageError("--server has no part in this: the command works on the store itself", "leave it out, and unset PERDURE_SERVER")
	}
	data, err := a.DataDir()
	return server.StoreFile(data), err
}

// embeddedFile returns the result of storeFile, and also refuses --store: PostgreSQL has its own tools
// for backups.
func embeddedFile(a *setup.App) (string, error) {
	if a.Store != "" {
		return "", setup.NewUsageError("a PostgreSQL database is backed up and restored by PostgreSQL's own tools", "pg_dump, or a base backup with archived WAL; docs/operations.md says what to mind")
	}
	return storeFile(a)
}

func newStoreBackupCommand(a *setup.App) *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the data directory's store into a file, while a server may use it",
		Long: `Writes a compact copy of the data directory's store, as of one moment, into a new
file (mode 0600: it holds conversations). A server may run meanwhile. The file gets
its name when it is complete. The content of local runs is not in it: that is in
worker/ of the data directory.`,
		Example: "  perdure store backup /backups/perdure-$(date +%F).db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := embeddedFile(a)
			if err != nil {
				return err
			}
			line := a.Stderr.Progress()
			var size int64
			err = server.BackupStore(cmd.Context(), file, args[0], func(bytes, about int64) {
				size = bytes
				line.Update("%s of about %s", terminal.Mebibytes(bytes), terminal.Mebibytes(about))
			})
			if err != nil {
				return err
			}
			line.End("the backup has %s", terminal.Mebibytes(size))
			return nil
		},
	}
}

func newStoreRestoreCommand(a *setup.App) *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of the data directory's store",
		Example: "  perdure store restore /backups/perdure.db",
		Long: `Puts a backup into the data directory, which no server may own. With --replace a
store that is there is renamed; without it the command refuses. Readers of logs get
a reset, because what they were shown after the backup is gone.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := embeddedFile(a)
			if err != nil {
				return err
			}
			if err := explainOwner(server.RestoreStore(cmd.Context(), args[0], file, replace)); err != nil {
				return err
			}
			_ = a.Stderr.Linef("restored to %s", file)
			return nil
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "replace the store that is there, which is renamed")
	return cmd
}

// explainOwner returns an error that explains which process owns the data directory.
func explainOwner(err error) error {
	var owned *server.OwnedError
	if errors.As(err, &owned) {
		return fmt.Errorf("process %d owns the data directory %s\n  end it first", owned.PID, owned.Data)
	}
	return err
}
