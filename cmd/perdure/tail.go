package main

import (
	"context"

	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

func (a *app) tailCommand() *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use: "tail ID", Short: "Follow a run from its start", GroupID: "runs",
		Long: `Prints everything that a run has said and done, then what comes, until the run ends.
If no server is up, nothing can come, and tail prints what there is. ID may be
"last". With --json each event is a line {cursor, event, data}.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(), func(l *link) error { return a.tail(cmd.Context(), l, args[0], now) })
		},
	}
	cmd.Flags().BoolVar(&now, "from-now", false, "leave out what was before")
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) tail(ctx context.Context, l *link, arg string, now bool) error {
	x, err := findRun(ctx, l.Client, arg)
	if err != nil {
		return err
	}
	w := a.watcher(&seat{app: a, link: l}, x.ID)
	w.patient = true
	if text, ok := w.view.(*textView); ok {
		text.users = true
	}
	w.view.started(x)
	if now {
		snapshot, err := w.Snapshot(ctx, x.ID, 100)
		if err != nil {
			return err
		}
		w.cursor = snapshot.Cursor
		w.view.know(snapshot.Entries)
	}
	if l.alone() {
		return w.past(ctx, x)
	}
	if _, err := w.follow(ctx); err != nil {
		return err
	}
	return w.end(ctx)
}

// past shows the existing events of a run that no process is running.
func (w *watcher) past(ctx context.Context, x *perdure.Execution) error {
	for {
		p, err := w.Events(ctx, w.id, w.cursor, 1000)
		if err != nil {
			return err
		}
		for _, e := range p.Items {
			if err := w.view.event(e); err != nil {
				return err
			}
		}
		w.cursor = p.NextCursor
		if p.UpToDate {
			break
		}
	}
	w.tellIdle(w.link, x)
	return w.end(ctx)
}

// tellIdle prints how to continue an unfinished run.
func (a *app) tellIdle(l *link, x *perdure.Execution) {
	if !l.alone() {
		tellAway(a, x)
	}
	if l.alone() && !x.Status.Terminal() && x.WaitReason != "signal" {
		_ = a.stderr.say("perdure: nothing runs it now; perdure resume %s%s goes on with it", x.ID, a.typed)
	}
}
