package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

func (a *app) showCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a run with its conversation", GroupID: "runs",
		Long:    "Shows a run, its conversation from the start, and what it used. ID may be \"last\".",
		Example: "  perdure show last\n  perdure show 0199d7e2-... --json | jq .status",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(), func(l *link) error { return a.show(cmd.Context(), l, args[0]) })
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) show(ctx context.Context, l *link, arg string) error {
	x, err := findRun(ctx, l.Client, arg)
	if err != nil {
		return err
	}
	entries, changed, err := l.conversation(ctx, x.ID)
	if err != nil {
		return err
	}
	r, err := l.resultOf(ctx, x.ID)
	if err != nil {
		return err
	}
	if a.json {
		return a.showJSON(ctx, l, x, entries, r, changed)
	}
	a.stdout.hold()
	err = a.showText(x, entries, r, changed)
	if err := errors.Join(err, a.stdout.release()); err != nil {
		return err
	}
	a.tellIdle(l, x)
	return nil
}

func (a *app) showText(x *perdure.Execution, entries []perdure.Entry, r result, changed []uuid.UUID) error {
	v := newTextView(a)
	v.p.line(styleDim, fmt.Sprintf("%s · %s · started %s", x.Kind, statusText(x), x.CreatedAt.Local().Format(shortTime)))
	v.know(entries)
	marked := map[uuid.UUID]bool{}
	for _, id := range changed {
		marked[id] = true
	}
	for _, e := range entries {
		if marked[e.ID] {
			v.p.section("text")
			v.p.line(styleDim, promptChangedText)
		}
		if err := v.told(e); err != nil {
			return err
		}
	}
	return v.result(r)
}

// showJSON prints the execution in the API's form, with its entries, its tasks and its usage.
func (a *app) showJSON(ctx context.Context, l *link, x *perdure.Execution, entries []perdure.Entry, r result, changed []uuid.UUID) error {
	tasks := []*perdure.Task{}
	for t, err := range l.Tasks(ctx, x.ID) {
		if err != nil {
			return err
		}
		tasks = append(tasks, t)
	}
	raw, err := json.Marshal(x)
	if err != nil {
		return err
	}
	members := map[string]any{}
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	if entries == nil {
		entries = []perdure.Entry{}
	}
	members["tasks"] = tasks
	members["entries"], members["usage"], members["usageByModel"], members["turns"] = entries, r.Usage, r.ByModel, r.Turns
	members["promptChanges"] = changed
	if r.StopReason != "" {
		members["stopReason"] = r.StopReason
	}
	return a.printJSON(members)
}

// told shows an existing entry as a whole.
func (v *textView) told(e perdure.Entry) error {
	if onWorker(e.Content) {
		v.p.section("text")
		v.p.line(styleDim, onWorkerText)
		return v.p.err
	}
	m, err := e.Message()
	if err != nil {
		return err
	}
	if e.Role == perdure.RoleUser {
		v.user(m.Content)
		return v.p.err
	}
	for _, part := range m.Parts {
		switch part.Type {
		case perdure.PartText:
			if part.Text == "" { // it only carries a signature
				continue
			}
			v.text(cleanAll(part.Text))
		case perdure.PartThinking:
			v.p.section("thinking")
			v.p.indented(styleDim, "┊ ", cleanAll(part.Thinking))
			v.p.newline()
		case perdure.PartToolResult:
			v.tools.named(part.ToolCallID, part.ToolName)
			v.tools.result(part.ToolCallID, toolResult{
				IsError: part.IsError, Text: wordsOf(part.Parts),
			})
		}
	}
	return v.p.err
}

// text shows the model's whole text.
func (v *textView) text(said string) {
	if v.prose != nil {
		v.prose.write(0, said)
		v.prose.flush()
		return
	}
	v.p.section("text")
	v.p.line(styleNone, said)
}
