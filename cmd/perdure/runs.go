package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

// look runs a command that only makes requests to a server.
func (a *app) look(ctx context.Context, do func(l *link) error) error {
	l, err := a.connect(ctx, ownerLook)
	if err != nil {
		return err
	}
	if l.own != nil {
		err = (&standard{}).introduce(ctx, l.own.Dispatch(a.orgOr()))
	}
	if err == nil {
		err = do(l)
	}
	if closed := l.close(); err == nil {
		err = closed
	}
	return err
}

// lastRun is the argument for the newest run.
const lastRun = "last"

// findRun returns the run that an argument names.
func findRun(ctx context.Context, c *client.Client, arg string) (*perdure.Execution, error) {
	if arg == lastRun {
		p, err := c.ListPage(ctx, client.ExecutionFilter{}, client.PageOptions{Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(p.Items) == 0 {
			return nil, perdure.Errorf(perdure.NotFound, "there are no runs yet")
		}
		return c.Get(ctx, p.Items[0].ID)
	}
	id, err := uuid.Parse(arg)
	if err != nil || len(arg) != 36 {
		return nil, usageError{arg + " is no id of a run", "perdure runs lists them; last stands for the newest"}
	}
	return c.Get(ctx, id)
}

// completeRuns suggests the ids of runs if a server is running.
func (a *app) completeRuns(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 || fromEnvironment(cmd.Flags()) != nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
	defer cancel()
	offers := []string{lastRun + "\tthe newest run"}
	l, err := a.reach(ctx)
	if err != nil {
		return offers, none
	}
	defer func() { _ = l.close() }() // only read
	p, err := l.ListPage(ctx, client.ExecutionFilter{}, client.PageOptions{Limit: 30})
	if err != nil {
		return offers, none
	}
	for _, x := range p.Items {
		offers = append(offers, fmt.Sprintf("%s\t%s, %s", x.ID, strings.ToLower(string(x.Status)), x.CreatedAt.Local().Format(shortTime)))
	}
	return offers, none
}

const shortTime = "2006-01-02 15:04"

func (a *app) runsCommand() *cobra.Command {
	var f client.ExecutionFilter
	var o client.PageOptions
	var status, metadata []string
	cmd := &cobra.Command{
		Use: "runs", Short: "List runs, newest first", GroupID: "runs", Aliases: []string{"ls"},
		Example: `  perdure runs --status waiting,running
  perdure runs --json | jq -r '.items[].id'`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := fillFilter(&f, status, metadata); err != nil {
				return err
			}
			return a.read(cmd.Context(), func(l *link) error {
				p, err := listRuns(cmd.Context(), l.Client, f, o)
				if err != nil {
					return err
				}
				return a.printRuns(p)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&status, "status", nil, "only those with one of these statuses")
	flags.StringVar(&f.Kind, "kind", "", "only those of this kind of agent")
	flags.StringArrayVar(&metadata, "metadata", nil, "KEY=VALUE: only those with this metadata; may be repeated")
	flags.StringVarP(&f.Query, "query", "q", "", "only those with these words in id, kind or input")
	flags.IntVar(&o.Limit, "limit", 20, "how many at most, to 1000")
	flags.StringVar(&o.Cursor, "cursor", "", "go on with the nextCursor of an earlier list")
	a.jsonFlag(cmd)
	cmd.AddCommand(a.runsPruneCommand(), a.promoteCommand())
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

func fillFilter(f *client.ExecutionFilter, status, metadata []string) error {
	for _, name := range status {
		s, err := perdure.ParseStatus(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		f.Status = append(f.Status, s)
	}
	f.Metadata = map[string]string{}
	for _, pair := range metadata {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return usageError{"--metadata " + pair + " is no pair", "write it like --metadata ticket=42"}
		}
		f.Metadata[key] = value
	}
	return nil
}

func (a *app) printRuns(p client.Page[*perdure.Execution]) error {
	if a.json {
		return a.printJSON(p)
	}
	if len(p.Items) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no runs")
		return err
	}
	out, now := newPage(a.stdout), time.Now()
	t := table{columns: []column{
		{head: "ID"},
		{head: "STATUS", style: statusStyle},
		{head: "KIND", spare: 4},
		{head: "STARTED", spare: 2},
		{head: "TOOK", spare: 3},
		{head: "TITLE", spare: 1, cut: true},
	}}
	for _, x := range p.Items {
		started, took := x.CreatedAt.Local().Format(shortTime), "-"
		if out.width() > 0 {
			started = ago(now.Sub(x.CreatedAt.Time))
		}
		if x.CompletedAt != nil {
			took = seconds(lasted(x))
		}
		t.add(x.ID.String(), statusText(x), x.Kind, started, took, titleText(x))
	}
	if err := t.write(out); err != nil {
		return err
	}
	if p.NextCursor != nil {
		_, err := fmt.Fprintln(a.stdout, "more: --cursor "+*p.NextCursor)
		return err
	}
	return nil
}

func statusText(x *perdure.Execution) string {
	text := strings.ToLower(string(x.Status))
	if x.Status == perdure.StatusWaiting && x.WaitReason != "" {
		text += " (" + x.WaitReason + ")"
	}
	if x.Away != nil {
		text += " (worker away)"
	}
	return text
}

// statusStyle returns the style of a status. A status that needs a person is highlighted.
func statusStyle(text string) style {
	word, _, _ := strings.Cut(text, " ")
	switch perdure.Status(strings.ToUpper(word)) {
	case perdure.StatusCompleted:
		return styleGood
	case perdure.StatusFailed:
		return styleError
	case perdure.StatusRunning, perdure.StatusPending:
		return styleTool
	case perdure.StatusWaiting:
		return styleWarn
	}
	return styleDim
}

// titleText returns the title in a run's metadata, or else the server's title.
func titleText(x *perdure.Execution) string {
	var metadata map[string]any
	if json.Unmarshal(x.Metadata, &metadata) == nil {
		if title, _ := metadata[titleMember].(string); title != "" {
			return title
		}
	}
	return x.Title
}

// ago formats a past time for people.
func ago(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
