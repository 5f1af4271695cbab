package lookup

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// NewRunsCommand returns the command that lists runs.
func NewRunsCommand(a *setup.App) *cobra.Command {
	var flags FilterFlags
	var o client.PageOptions
	cmd := &cobra.Command{
		Use: "runs", Short: "List runs, newest first", GroupID: "runs", Aliases: []string{"ls"},
		Long: `Lists runs, newest first: how they stand, their kind, when they were started, how
long they took, and their title. In a terminal the list fits its width; in a pipe each
run is one line, with why it failed in the last column. --json has all fields.`,
		Example: `  perdure runs --status waiting,running
  perdure runs --failed-turn
  perdure runs --json | jq -r '.items[].id'`,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := flags.Filter()
			if err != nil {
				return err
			}
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error {
				if err := flags.Find(cmd.Context(), conn.Client, &f); err != nil {
					return err
				}
				p, err := listRuns(cmd.Context(), conn.Client, f, o)
				if err != nil {
					return err
				}
				var h holds
				if !conn.Offline() && !a.JSON {
					h = queueHolds(cmd.Context(), a, conn.Client, p.Items)
				}
				return printRuns(a, p, h)
			})
		},
	}
	flags.Add(cmd.Flags())
	setup.CountFlag(cmd.Flags(), &o.Limit, "limit", "", 20, 1, 1000, "how many at most, to 1000")
	cmd.Flags().StringVar(&o.Cursor, "cursor", "", "continue with the nextCursor of an earlier list")
	a.JSONFlag(cmd)
	return cmd
}

// listRuns returns one page, which is short only at the end of the list. It may need several
// requests, because a server examines a limited number of runs per request.
func listRuns(ctx context.Context, c *client.Client, f client.ExecutionFilter, o client.PageOptions) (client.Page[*perdure.Execution], error) {
	all, err := c.ListPage(ctx, f, o)
	for err == nil && all.NextCursor != nil && len(all.Items) < o.Limit {
		var p client.Page[*perdure.Execution]
		p, err = c.ListPage(ctx, f, client.PageOptions{Limit: o.Limit - len(all.Items), Cursor: *all.NextCursor})
		all.Items, all.NextCursor = append(all.Items, p.Items...), p.NextCursor
	}
	return all, err
}

// printRuns prints a list of runs. In a pipe each run is one line, whose last column is the reason
// of a failure.
func printRuns(a *setup.App, p client.Page[*perdure.Execution], h holds) error {
	if a.JSON {
		return a.Stdout.PrintJSON(p)
	}
	if len(p.Items) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no runs")
		return err
	}
	now := time.Now()
	t := terminal.Table{Columns: []terminal.Column{
		{Head: "ID"},
		{Head: "STATUS", Style: statusStyle},
		{Head: "KIND", Omit: 4},
		{Head: "STARTED", Omit: 2},
		{Head: "TOOK", Omit: 3},
		{Head: "TITLE", Omit: 1, Cut: true, Least: 20},
	}}
	piped := a.Stdout.Columns() == 0
	if piped {
		t.Columns = append(t.Columns, terminal.Column{Head: "REASON"})
	}
	for _, x := range p.Items {
		started, took := x.CreatedAt.Local().Format(terminal.TimeFormat), "-"
		if !piped {
			started = terminal.Ago(now.Sub(x.CreatedAt.Time))
		}
		if x.CompletedAt != nil {
			took = terminal.Duration(runTime(x))
		}
		cells := []string{x.ID.String(), heldStatus(x, h.of(x)), x.Kind, started, took, Title(x)}
		if piped {
			t.Add(append(cells, reasonText(x))...)
			continue
		}
		t.Add(cells...)
		t.Note(reasonText(x))
	}
	if err := t.Print(a.Stdout); err != nil {
		return err
	}
	if p.NextCursor != nil {
		_, err := fmt.Fprintln(a.Stdout, "more: --cursor "+*p.NextCursor)
		return err
	}
	return nil
}
