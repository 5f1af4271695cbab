package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/server"
	"github.com/spf13/cobra"
)

func (a *app) storeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "store", Short: "Back up, check and move what is stored", GroupID: "keep",
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.storeBackupCommand(), a.storeRestoreCommand(), a.storeCheckCommand(), a.storeCopyCommand())
	return cmd
}

// storeFile returns the store's file in the data directory.
func (a *app) storeFile() (string, error) {
	if a.server != "" {
		return "", usageError{"--server has no part in this: the command works on the store itself", "leave it out, and unset PERDURE_SERVER"}
	}
	data, err := a.dataDir()
	return server.StoreFile(data), err
}

// embeddedFile is storeFile for operations for which PostgreSQL has its own tools.
func (a *app) embeddedFile() (string, error) {
	if a.store != "" {
		return "", usageError{"a PostgreSQL database is backed up and restored by PostgreSQL's own tools", "pg_dump, or a base backup with archived WAL; docs/operations.md says what to mind"}
	}
	return a.storeFile()
}

func (a *app) storeBackupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the data directory's store into a file, while a server may use it",
		Long: `Writes a compact copy of the data directory's store, as of one moment, into a new
file (mode 0600: it holds conversations). A server may run meanwhile. The file gets
its name when it is complete. The content of local runs is not in it: that is in
worker/ of the data directory.`,
		Example: "  perdure store backup /backups/perdure-$(date +%F).db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := a.embeddedFile()
			if err != nil {
				return err
			}
			line := a.progress()
			var size int64
			err = server.BackupStore(cmd.Context(), file, args[0], func(bytes, about int64) {
				size = bytes
				line.now("%s of about %s", megabytes(bytes), megabytes(about))
			})
			if err != nil {
				return err
			}
			line.end("the backup has %s", megabytes(size))
			return nil
		},
	}
}

func (a *app) storeRestoreCommand() *cobra.Command {
	var replace bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Put a backup in the place of the data directory's store",
		Long: `Puts a backup into the data directory, which no server may own. With --replace a
store that is there is renamed; without it the command refuses. Readers of logs get
a reset, because what they were shown after the backup is gone.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := a.embeddedFile()
			if err != nil {
				return err
			}
			if err := owned(server.RestoreStore(cmd.Context(), args[0], file, replace)); err != nil {
				return err
			}
			_ = a.stderr.say("restored to %s", file)
			return nil
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "though there is a store; it is renamed")
	return cmd
}

// owned returns an error that explains which process owns the data directory.
func owned(err error) error {
	var owned *server.OwnedError
	if errors.As(err, &owned) {
		return fmt.Errorf("process %d owns the data directory %s\n  end it first", owned.PID, owned.Data)
	}
	return err
}

func (a *app) storeCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Read everything that is stored, and say what is wrong",
		Long: `Reads every page, row, conversation and log of the data directory's store, of
--store or of a backup, and reports what is wrong: damage, logs with gaps, texts
that do not match their hash, conversations that no provider accepts. It does not
write to the store, and servers may run meanwhile. The exit code is 1 if something is wrong.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := a.storeFile()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				where = args[0]
			} else if a.store != "" {
				where = a.store
			}
			return a.checkStore(cmd.Context(), where)
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

// checked is the output of --json.
type checked struct {
	Executions int64          `json:"executions"`
	Entries    int64          `json:"entries"`
	Tasks      int64          `json:"tasks"`
	Records    int64          `json:"records"`
	Findings   []foundAtCheck `json:"findings"`
}

type foundAtCheck struct {
	AgentExecutionID *uuid.UUID `json:"agentExecutionId,omitempty"`
	What             string     `json:"what"`
}

func (a *app) checkStore(ctx context.Context, where string) error {
	if !strings.Contains(where, "://") {
		unchecked, damaged, err := server.StoreUnchecked(where)
		if err != nil {
			return err
		}
		tellUnchecked(a, unchecked, damaged)
	}
	line := a.progress()
	findings := []foundAtCheck{}
	r, err := server.CheckStore(ctx, where, func(r server.CheckResult) {
		line.now("%d runs, %d entries, %d records of logs", r.Executions, r.Entries, r.Records)
	}, func(f server.CheckFinding) {
		found := foundAtCheck{What: f.What}
		if f.Execution != uuid.Nil {
			found.AgentExecutionID = &f.Execution
		}
		findings = append(findings, found)
		if !a.json {
			line.clear()
			_ = a.stdout.say("%s%s", prefixOf(f), oneLine(f.What))
		}
	})
	if err != nil {
		return err
	}
	line.end("%d runs, %d entries, %d tasks, %d records of logs; %d things are wrong", r.Executions, r.Entries, r.Tasks, r.Records, r.Findings)
	if a.json {
		if err := a.printJSON(checked{r.Executions, r.Entries, r.Tasks, r.Records, findings}); err != nil {
			return err
		}
	}
	if r.Findings > 0 {
		return exit{exitFailed}
	}
	return nil
}

// tellUnchecked prints on standard error the state in which servers left a store.
func tellUnchecked(a *app, unchecked, damaged bool) {
	switch {
	case damaged:
		_ = a.stderr.say("perdure: the last server on the store found damage")
	case unchecked:
		_ = a.stderr.say("perdure: the store is unchecked: it was not closed in order, and no server has finished its check since")
	}
}

func prefixOf(f server.CheckFinding) string {
	if f.Execution == uuid.Nil {
		return ""
	}
	return "run " + f.Execution.String() + ": "
}

func oneLine(text string) string { return strings.Join(strings.Fields(cleanAll(text)), " ") }

func (a *app) storeCopyCommand() *cobra.Command {
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
				return usageError{"there is no database to copy to", "give one with --to postgres://... or PERDURE_TO"}
			}
			file, err := a.copySource(from)
			if err != nil {
				return err
			}
			return a.copyStore(cmd.Context(), server.CopyConfig{From: file, To: to, Keep: keep, Logger: a.logger(slog.LevelWarn)})
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the store to copy, sqlite:FILE; default: that of the data directory")
	cmd.Flags().StringVar(&to, "to", "", "the database, postgres://..., in which nothing is stored (required)")
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the file in use; the copy is another store, whose readers begin anew")
	return cmd
}

func (a *app) copySource(from string) (string, error) {
	if from == "" {
		return a.embeddedFile()
	}
	file, ok := strings.CutPrefix(from, "sqlite:")
	if !ok || file == "" {
		return "", usageError{"--from " + from + " is no file of a store", "give sqlite:FILE"}
	}
	abs, err := filepath.Abs(file)
	return abs, err
}

func (a *app) copyStore(ctx context.Context, c server.CopyConfig) error {
	line := a.progress()
	c.Told = func(p server.CopyProgress) {
		switch {
		case p.Step == server.StepCompare && !p.Done:
			line.now("comparing %s: %d rows", p.Table, p.Rows)
		case p.Step == server.StepCompare && p.Mended > 0:
			line.end("  %-26s %10d rows, the same but for %d texts that were not UTF-8: U+FFFD stands in them", p.Table, p.Rows, p.Mended)
		case p.Step == server.StepCompare:
			line.end("  %-26s %10d rows, the same", p.Table, p.Rows)
		default:
			line.now("copying %s: %d rows, %s", p.Table, p.Rows, megabytes(p.Bytes))
		}
	}
	r, err := server.CopyStore(ctx, c)
	if err != nil {
		return owned(err)
	}
	switch {
	case r.Already:
		line.end("everything is there already; start servers with --store")
	case c.Keep:
		line.end("everything is there; %s stays in use, and the copy is another store", c.From)
	default:
		line.end("everything is there; start servers with --store. %s is closed", c.From)
	}
	return nil
}
