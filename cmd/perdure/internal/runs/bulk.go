package runs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// bulkVerb contains the words for a bulk action in messages.
type bulkVerb struct {
	action perdure.BulkActionName
	ask    string // the words before the number of runs
	done   string // the word after the number of runs
}

func newBulkCancelCommand(a *setup.App) *cobra.Command {
	cmd := newBulkCommand(a, bulkVerb{perdure.BulkCancel, "cancel", "cancelled"})
	cmd.Short = "Cancel every run that a filter selects"
	cmd.Long = "Cancels every run that has not ended and that the filters select, 10,000 at most.\nShows their number and asks before it begins. Runs that are started meanwhile are\nnot affected. The server continues if this command is stopped."
	cmd.Example = "  perdure runs cancel --kind import --metadata team=sales\n  perdure runs cancel --status pending --reason 'wrong prompt' --yes"
	return cmd
}

func newBulkRetryCommand(a *setup.App) *cobra.Command {
	cmd := newBulkCommand(a, bulkVerb{perdure.BulkRetry, "retry the failed turn of", "retried"})
	cmd.Short = "Retry the failed turn of every run that a filter selects"
	cmd.Long = "Sends the signal retry to every run that waits for it after a failed turn and that\nthe filters select, 10,000 at most. Shows their number and asks before it begins.\nThe server continues if this command is stopped."
	cmd.Example = "  perdure runs retry --tag nightly\n  perdure runs retry --created-after 2026-03-04T00:00:00Z --yes"
	return cmd
}

func newBulkCommand(a *setup.App, verb bulkVerb) *cobra.Command {
	r := client.BulkRequest{Action: verb.action, IdempotencyKey: uuid.NewString()}
	var f lookup.FilterFlags
	var yes bool
	cmd := &cobra.Command{
		Use: string(verb.action), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if r.Filter, err = f.Filter(); err != nil {
				return err
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				if err := f.Find(cmd.Context(), conn.Client, &r.Filter); err != nil {
					return err
				}
				return bulk(cmd.Context(), a, conn.Client, r, verb, yes)
			})
		},
	}
	f.Add(cmd.Flags())
	cmd.Flags().StringVar(&r.Reason, "reason", "", "shown with the bulk action")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	a.JSONFlag(cmd)
	return cmd
}

// bulk shows the number of runs, asks the user to confirm it, and follows the bulk action to its
// end. If the parameter `yes` is set, it does not ask.
func bulk(ctx context.Context, a *setup.App, c *client.Client, r client.BulkRequest, verb bulkVerb, yes bool) error {
	n, err := c.CountBulkAction(ctx, r)
	if err != nil {
		return err
	}
	switch {
	case n.More:
		return setup.NewUsageError(fmt.Sprintf("over %d runs match, and a bulk action has that many at most", n.Matched),
			"narrow the filter, for example with --created-before, and repeat the command for the rest")
	case n.Matched == 0 && !a.JSON:
		_, err := fmt.Fprintln(a.Stdout, "no runs match")
		return err
	case !yes && n.Matched > 0:
		if ok, err := confirm(ctx, a, fmt.Sprintf("%s %s?", verb.ask, runCount(n.Matched))); err != nil || !ok {
			return err
		}
	}
	action, err := c.StartBulkAction(ctx, r)
	if err != nil {
		return err
	}
	if action, err = follow(ctx, a, c, action, verb); err != nil {
		return err
	}
	return printBulk(a, action, verb)
}

func runCount(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

// confirm asks the user a question and reports whether the answer is yes. Without a terminal it
// returns an error, so that no script waits for an answer.
func confirm(ctx context.Context, a *setup.App, question string) (bool, error) {
	if !terminal.IsTerminal(a.Stdin) {
		return false, setup.NewUsageError(question+" There is no terminal to ask", "add --yes to begin without being asked")
	}
	if _, err := fmt.Fprint(a.Stderr, terminal.Inline(strings.ToUpper(question[:1])+question[1:])+" [y/N] "); err != nil {
		return false, err
	}
	in := terminal.LineReader{In: a.Stdin}
	line, _, err := in.Read(ctx)
	if err != nil {
		return false, err
	}
	if line = strings.ToLower(line); line == "y" || line == "yes" {
		return true, nil
	}
	return false, a.Stderr.Linef("nothing was changed")
}

// bulkPoll is the interval at which the command reads the progress of a bulk action.
const bulkPoll = 500 * time.Millisecond

// follow reads a bulk action until it is completed, and shows its progress.
func follow(ctx context.Context, a *setup.App, c *client.Client, action *perdure.BulkAction, verb bulkVerb) (*perdure.BulkAction, error) {
	shown := 0
	for action.Status == perdure.BulkRunning {
		select {
		case <-ctx.Done():
			_ = a.Stderr.Linef("the server continues with the bulk action %s", action.ID)
			return nil, context.Cause(ctx)
		case <-time.After(bulkPoll):
		}
		var err error
		if action, err = c.BulkAction(ctx, action.ID); err != nil {
			return nil, err
		}
		if n := action.Handled(); n != shown && action.Status == perdure.BulkRunning {
			shown = n
			_ = a.Stderr.Linef("%d of %s: %d %s", n, runCount(action.Matched), action.Done, verb.done)
		}
	}
	return action, nil
}

func printBulk(a *setup.App, action *perdure.BulkAction, verb bulkVerb) error {
	if a.JSON {
		return a.Stdout.PrintJSON(action)
	}
	text := fmt.Sprintf("%s %s", runCount(action.Done), verb.done)
	if action.Skipped > 0 {
		text += fmt.Sprintf(", %d skipped because they had changed", action.Skipped)
	}
	if action.Failed > 0 {
		text += fmt.Sprintf(", %d failed", action.Failed)
	}
	if err := a.Stdout.Linef("%s", text); err != nil {
		return err
	}
	for _, e := range action.Errors {
		if err := a.Stdout.Linef("  %s  %s: %s", e.ExecutionID, e.Code, e.Message); err != nil {
			return err
		}
	}
	if action.Failed > len(action.Errors) {
		return a.Stdout.Linef("  and %d more", action.Failed-len(action.Errors))
	}
	return nil
}
