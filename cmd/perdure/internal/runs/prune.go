package runs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newPruneCommand(a *setup.App) *cobra.Command {
	var r client.PruneRequest
	var status []string
	var definition string
	var yes bool
	cmd := &cobra.Command{
		Use: "prune", Short: "Delete ended runs, by age or by the retention policies",
		Long: `Deletes ended runs that are older than --older-than, with their conversations,
tasks and logs. Without --older-than it applies the retention policies of the org
and of definitions, which may also delete old checkpoints and logs. A run that has
not ended is never deleted. --dry-run counts what would be deleted. In a terminal the
command shows this count and asks before it deletes.`,
		Example: `  perdure runs prune --dry-run --older-than 30d
  perdure runs prune --older-than 30d --status failed,cancelled`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range status {
				s, err := perdure.ParseStatus(strings.TrimSpace(name))
				if err != nil {
					return err
				}
				r.Status = append(r.Status, s)
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				var err error
				if r.DefinitionID, err = lookup.DefinitionID(cmd.Context(), conn.Client, definition); err != nil {
					return err
				}
				if !yes && !r.DryRun && terminal.IsTerminal(a.Stdin) {
					if ok, err := confirmPrune(cmd.Context(), a, conn.Client, r); err != nil || !ok {
						return err
					}
				}
				all, err := prune(cmd.Context(), a, conn.Client, r)
				if err != nil {
					return err
				}
				return printPruned(a, all)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.OlderThan, "older-than", "", "runs that ended that long ago, like 30d or 12h; 0 for all that have ended")
	flags.BoolVar(&r.DryRun, "dry-run", false, "count what would go, and change nothing")
	flags.StringSliceVar(&status, "status", nil, "only those that ended so: completed, failed, cancelled")
	flags.StringVar(&definition, "definition", "", "only those that started from this definition (id or slug)")
	flags.BoolVarP(&yes, "yes", "y", false, "do not ask")
	a.JSONFlag(cmd)
	return cmd
}

// confirmPrune shows what the request would delete, and asks the user to confirm it. It asks nothing if there
// is nothing to delete.
func confirmPrune(ctx context.Context, a *setup.App, c *client.Client, r client.PruneRequest) (bool, error) {
	r.DryRun = true
	all, err := prune(ctx, a, c, r)
	if err != nil {
		return false, err
	}
	lines := prunedLines(all)
	if len(lines) == 0 {
		return true, nil
	}
	for _, line := range lines {
		if err := a.Stderr.Linef("%s", line); err != nil {
			return false, err
		}
	}
	return confirm(ctx, a, "delete this?")
}

// prune repeats the request until nothing is left, and shows the progress. It returns the sum of the
// reports.
func prune(ctx context.Context, a *setup.App, c *client.Client, r client.PruneRequest) (all client.PruneReport, err error) {
	for {
		report, err := c.Prune(ctx, r)
		if coded := (&perdure.Error{}); r.OlderThan == "" && errors.As(err, &coded) && strings.Contains(coded.Message, "olderThan") {
			return all, setup.NewUsageError(
				"the org has no retention policy to prune by",
				"say how old the runs must be, like --older-than 30d; or set a policy with perdure retention --executions 90d",
			)
		}
		if err != nil {
			return all, err
		}
		addPruned(&all, report)
		nothing := report.Executions.Count+report.Checkpoints.Count+report.Logs.Count == 0
		if !report.More || nothing || ctx.Err() != nil {
			break
		}
		_ = a.Stderr.Linef("%d runs deleted, %s; more to go", all.Executions.Count, terminal.Bytes(all.Executions.Bytes))
	}
	all.DryRun, all.More = r.DryRun, false
	return all, nil
}

func addPruned(all, part *client.PruneReport) {
	for _, pair := range [][2]*client.PruneCount{
		{&all.Executions, &part.Executions}, {&all.Checkpoints, &part.Checkpoints}, {&all.Logs, &part.Logs},
	} {
		sum, more := pair[0], pair[1]
		sum.Count, sum.Bytes = sum.Count+more.Count, sum.Bytes+more.Bytes
		if sum.Oldest == nil || more.Oldest != nil && more.Oldest.Before(sum.Oldest.Time) {
			sum.Oldest = more.Oldest
		}
		sum.ByStatus, sum.ByKind = addCounts(sum.ByStatus, more.ByStatus), addCounts(sum.ByKind, more.ByKind)
	}
}

func addCounts[K comparable](sum, more map[K]int64) map[K]int64 {
	if sum == nil {
		return maps.Clone(more)
	}
	for key, n := range more {
		sum[key] += n
	}
	return sum
}

func printPruned(a *setup.App, r client.PruneReport) error {
	if a.JSON {
		return a.Stdout.PrintJSON(r)
	}
	lines := prunedLines(r)
	if len(lines) == 0 {
		lines = []string{"nothing to delete"}
	}
	for _, line := range lines {
		if err := a.Stdout.Linef("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// prunedLines returns a line for each sort of data that was, or would be, deleted.
func prunedLines(r client.PruneReport) (lines []string) {
	verb := "deleted"
	if r.DryRun {
		verb = "would delete"
	}
	for _, line := range []struct {
		what  string
		count client.PruneCount
	}{{"runs", r.Executions}, {"old checkpoints", r.Checkpoints}, {"logs", r.Logs}} {
		if line.count.Count == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %d %s, %s%s", verb, line.count.Count, line.what, terminal.Bytes(line.count.Bytes), prunedDetail(line.count)))
	}
	return lines
}

// prunedDetail describes the deleted data and its age.
func prunedDetail(c client.PruneCount) string {
	var b strings.Builder
	for _, status := range slices.Sorted(maps.Keys(c.ByStatus)) {
		fmt.Fprintf(&b, "; %d %s", c.ByStatus[status], strings.ToLower(string(status)))
	}
	for _, kind := range slices.Sorted(maps.Keys(c.ByKind)) {
		fmt.Fprintf(&b, "; %d of kind %s", c.ByKind[kind], kind)
	}
	if c.Oldest != nil {
		fmt.Fprintf(&b, "; the oldest from %s", c.Oldest.Local().Format(terminal.TimeFormat))
	}
	return b.String()
}
