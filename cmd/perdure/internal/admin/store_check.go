package admin

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/server"
	"github.com/spf13/cobra"
)

func newStoreCheckCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Read everything that is stored, and say what is wrong",
		Example: "  perdure store check\n  perdure store check /backups/perdure.db",
		Long: `Reads every page, row, conversation and log of the data directory's store, of
--store or of a backup, and reports what is wrong: damage, logs with gaps, texts
that do not match their hash, conversations that no provider accepts. It does not
write to the store, and servers may run meanwhile. The exit code is 1 if something is wrong.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			where, err := storeFile(a)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				where = args[0]
			} else if a.Store != "" {
				where = a.Store
			}
			return checkStore(cmd.Context(), a, where)
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

// checkReport is the output of store check --json.
type checkReport struct {
	Executions int64          `json:"executions"`
	Entries    int64          `json:"entries"`
	Tasks      int64          `json:"tasks"`
	Records    int64          `json:"records"`
	Findings   []checkFinding `json:"findings"`
}

type checkFinding struct {
	AgentExecutionID *uuid.UUID `json:"agentExecutionId,omitempty"`
	What             string     `json:"what"`
}

func checkStore(ctx context.Context, a *setup.App, where string) error {
	if !strings.Contains(where, "://") {
		unchecked, damaged, err := server.StoreNeedsCheck(where)
		if err != nil {
			return err
		}
		printUnchecked(a, unchecked, damaged)
	}
	line := a.Stderr.Progress()
	findings := []checkFinding{}
	r, err := server.CheckStore(ctx, where, func(r server.CheckResult) {
		line.Update("%d runs, %d entries, %d records of logs", r.Executions, r.Entries, r.Records)
	}, func(f server.CheckFinding) {
		found := checkFinding{What: f.What}
		if f.Execution != uuid.Nil {
			found.AgentExecutionID = &f.Execution
		}
		findings = append(findings, found)
		if !a.JSON {
			line.Clear()
			_ = a.Stdout.Linef("%s%s", findingPrefix(f), oneLine(f.What))
		}
	})
	if err != nil {
		return err
	}
	line.End("%d runs, %d entries, %d tasks, %d records of logs; %d things are wrong", r.Executions, r.Entries, r.Tasks, r.Records, r.Findings)
	if a.JSON {
		if err := a.Stdout.PrintJSON(checkReport{r.Executions, r.Entries, r.Tasks, r.Records, findings}); err != nil {
			return err
		}
	}
	if r.Findings > 0 {
		return setup.ExitWith(setup.ExitFailed)
	}
	return nil
}

// printUnchecked prints a warning on standard error if the last check of the store by a server
// found damage, or if the store was not closed cleanly and no check has been completed since.
func printUnchecked(a *setup.App, unchecked, damaged bool) {
	switch {
	case damaged:
		_ = a.Stderr.Linef("perdure: the last server on the store found damage")
	case unchecked:
		_ = a.Stderr.Linef("perdure: the store is unchecked: it was not closed in order, and no server has finished its check since")
	}
}

func findingPrefix(f server.CheckFinding) string {
	if f.Execution == uuid.Nil {
		return ""
	}
	return "run " + f.Execution.String() + ": "
}

func oneLine(text string) string { return strings.Join(strings.Fields(terminal.Clean(text)), " ") }
