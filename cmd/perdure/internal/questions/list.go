package questions

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// listCommand is the command that lists questions.
type listCommand struct {
	*setup.App
	filter           client.QuestionFilter
	page             client.PageOptions
	kind, run        string
	all, mine, watch bool
}

func newQuestionsCommand(a *setup.App) *cobra.Command {
	l := &listCommand{App: a}
	cmd := &cobra.Command{
		Use: "questions", Short: "List what runs ask of people", GroupID: "runs",
		Long: `Lists the open questions of runs, newest first. A run that asks waits until the
question is answered (perdure answer), expires or is withdrawn; restarts do not lose
it. --watch prints the open questions, and then each that is asked or decided.`,
		Example: `  perdure questions
  perdure questions --watch
  perdure questions --all --run 0199d7e2-... --json`,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.do(cmd.Context()) },
	}
	f := cmd.Flags()
	f.BoolVar(&l.watch, "watch", false, "continue with those that are asked, until Ctrl-C")
	f.BoolVar(&l.all, "all", false, "also those that are decided")
	f.BoolVar(&l.mine, "mine", false, "only those that your key may answer now")
	f.StringVar(&l.kind, "kind", "", "only those of this kind, like approval, input or choice")
	f.StringVar(&l.run, "run", "", "only those of the run with this id, or \"last\"")
	_ = cmd.RegisterFlagCompletionFunc("run", lookup.Complete(a))
	setup.CountFlag(f, &l.page.Limit, "limit", "", 50, 1, 1000, "how many at most, to 1000")
	f.StringVar(&l.page.Cursor, "cursor", "", "continue with the nextCursor of an earlier list")
	a.JSONFlag(cmd)
	cmd.AddCommand(newLinkCommand(a))
	return cmd
}

func (l *listCommand) do(ctx context.Context) error {
	switch {
	case l.watch && (l.all || l.mine || l.page.Cursor != ""):
		return setup.NewUsageError("--watch shows open questions and what becomes of them", "leave --all, --mine and --cursor out")
	case l.all && l.mine:
		return setup.NewUsageError("--mine shows open questions", "leave --all out")
	}
	l.filter.Kind, l.filter.Mine = perdure.QuestionKind(l.kind), l.mine
	if !l.all {
		l.filter.Status = []perdure.QuestionStatus{perdure.QuestionOpen}
	}
	through := connection.Read
	if l.watch {
		through = connection.Request
	}
	return through(ctx, l.App, func(conn *connection.Conn) (err error) {
		if l.filter.ExecutionID, err = lookup.FindID(ctx, conn.Client, l.run); err != nil {
			return err
		}
		if l.watch {
			return l.follow(ctx, conn.Client)
		}
		p, err := list(ctx, conn.Client, l.filter, l.page)
		if err != nil {
			return err
		}
		return printList(l.App, p, l.all)
	})
}

// list returns one page, which is short only at the end of the list. It may need several requests,
// because a server examines a limited number of questions per request.
func list(ctx context.Context, c *client.Client, f client.QuestionFilter, o client.PageOptions) (client.QuestionPage, error) {
	all, err := c.QuestionsPage(ctx, f, o)
	for err == nil && all.NextCursor != nil && len(all.Items) < o.Limit {
		var p client.QuestionPage
		p, err = c.QuestionsPage(ctx, f, client.PageOptions{Limit: o.Limit - len(all.Items), Cursor: *all.NextCursor})
		p.Items = append(all.Items, p.Items...)
		all = p
	}
	return all, err
}

func printList(a *setup.App, p client.QuestionPage, decided bool) error {
	if a.JSON {
		return a.Stdout.PrintJSON(p)
	}
	if len(p.Items) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no questions")
		return err
	}
	t := terminal.Table{Columns: []terminal.Column{
		{Head: "ID"},
		{Head: "STATUS", Style: statusStyle},
		{Head: "KIND", Omit: 3},
		{Head: "ASKED", Omit: 2},
		{Head: "RUN", Omit: 4},
		{Head: "QUESTION", Omit: 1, Cut: true},
	}}
	now := time.Now()
	for _, q := range p.Items {
		asked := q.CreatedAt.Local().Format(terminal.TimeFormat)
		if a.Stdout.Columns() > 0 {
			asked = terminal.Ago(now.Sub(q.CreatedAt.Time))
		}
		t.Add(q.ID.String(), terminal.QuestionStatus(q), string(q.Kind), asked, q.ExecutionID.String(), terminal.QuestionTitle(q))
	}
	if err := t.Print(a.Stdout); err != nil {
		return err
	}
	if p.NextCursor != nil {
		_, err := fmt.Fprintln(a.Stdout, "more: --cursor "+*p.NextCursor)
		return err
	}
	if !decided {
		_ = a.Stderr.Linef("perdure answer ID approve, deny or JSON answers one%s", a.ServerFlags)
	}
	return nil
}

// statusStyle returns the style of a status. An open question is highlighted.
func statusStyle(text string) terminal.Style {
	if text == string(perdure.QuestionOpen) {
		return terminal.StyleWarn
	}
	return terminal.StyleDim
}

// follow prints questions as they come, until the context ends.
func (l *listCommand) follow(ctx context.Context, c *client.Client) error {
	known := map[string]bool{} // versions of open questions that are printed
	for e, err := range c.FollowQuestions(ctx) {
		if err != nil {
			return err
		}
		all := []*perdure.Question{e.Changed}
		if e.All != nil {
			all = nil
			for i := len(e.All.Items) - 1; i >= 0; i-- { // the oldest first
				all = append(all, e.All.Items[i])
			}
		}
		for _, q := range all {
			version := fmt.Sprint(q.ID, q.Version)
			if known[version] || !l.selects(q) {
				continue
			}
			known[version] = true
			if err := printChange(l.App, q); err != nil {
				return err
			}
		}
		if len(known) > 10_000 {
			clear(known)
		}
	}
	return nil
}

func (l *listCommand) selects(q *perdure.Question) bool {
	return (l.filter.Kind == "" || l.filter.Kind == q.Kind) && (l.filter.ExecutionID == nil || *l.filter.ExecutionID == q.ExecutionID)
}

func printChange(a *setup.App, q *perdure.Question) error {
	if a.JSON {
		return a.Stdout.PrintJSONLine(q)
	}
	return a.Stdout.Linef("%s  %s  %s", q.ID, terminal.QuestionStatus(q), terminal.QuestionTitle(q))
}
