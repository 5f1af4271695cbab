package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

// NewShowCommand returns the command that shows a run.
func NewShowCommand(a *setup.App) *cobra.Command {
	var call, as string
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a run with its conversation", GroupID: "runs",
		Long:    "Shows a run of any agent: its conversation from the start, and what it used; of an agent\nof your own also input, tasks, signals, waits and output. ID may be \"last\".\nIn a terminal the first 10 lines of a tool's result are shown, in a pipe all of them.\nWith --call it shows a model call with its request, and with --as the request as a\nprovider gets it, without the key.",
		Example: "  perdure show last\n  perdure show 0199d7e2-... --json | jq .status\n  perdure show last --call last --as anthropic | jq",
		Args:    cobra.ExactArgs(1), ValidArgsFunction: Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if as != "" && call == "" {
				return setup.NewUsageError("--as prints the request of a model call", "name the call with --call ID, or --call last")
			}
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error {
				if call != "" {
					return showCall(cmd.Context(), a, conn, args[0], call, as)
				}
				return show(cmd.Context(), a, conn, args[0])
			})
		},
	}
	cmd.Flags().StringVar(&call, "call", "", `show the model call with this id, or "last"`)
	cmd.Flags().StringVar(&as, "as", "", "print the body of its request for this provider: anthropic, openai, openai-responses, gemini")
	a.JSONFlag(cmd)
	return cmd
}

func show(ctx context.Context, a *setup.App, conn *connection.Conn, arg string) error {
	x, err := Find(ctx, conn.Client, arg)
	if err != nil {
		return err
	}
	entries, changed, err := readConversation(ctx, conn, x.ID)
	if err != nil {
		return err
	}
	r, err := ReadResult(ctx, conn, x.ID)
	if err != nil {
		return err
	}
	asked, err := AllQuestions(ctx, conn.Client, x.ID)
	if err != nil {
		return err
	}
	if a.JSON {
		return showJSON(ctx, a, conn, x, entries, asked, r, changed)
	}
	work, err := readWork(ctx, conn, x)
	if err != nil {
		return err
	}
	work.Questions = asked
	r.Command, r.Repeat = "show", repeatOf(x)
	r.Watchable = !conn.Offline() && continues(x)
	var h hold
	if !conn.Offline() {
		h = queueHold(ctx, a, conn.Client, x)
	}
	a.Stdout.Hold()
	err = showText(a, x, entries, r, changed, work, h)
	if err := errors.Join(err, a.Stdout.Release()); err != nil {
		return err
	}
	PrintIdle(ctx, a, conn, x)
	return nil
}

// continues reports whether a run works, or waits for something that comes without the user.
func continues(x *perdure.Execution) bool {
	if x.Status == perdure.StatusWaiting {
		return x.WaitReason != WaitsForSignal && x.WaitReason != WaitsForQuestion
	}
	return !x.Status.Terminal()
}

// maxRepeated is the maximum size in bytes of an input that repeatOf writes into a command.
const maxRepeated = 1000

// repeatOf returns the command that starts a run of the same kind with the same input; "" if the
// input is long or not known, or if the run is LOCAL. It also returns "" for the built-in agent,
// because the command would have to repeat all settings of perdure run.
func repeatOf(x *perdure.Execution) string {
	if x.Kind == perdure.ReactKind || x.PersistenceMode == perdure.Local || len(x.Input) > maxRepeated {
		return ""
	}
	command := "perdure start " + setup.ShellWord(x.Kind)
	if len(x.Input) > 0 && string(x.Input) != "null" {
		command += " " + setup.ShellWord(string(x.Input))
	}
	return command
}

// FetchInput loads the input of a run if the server left it out. The input may still be missing after a
// nil error: then the worker that stores it is not connected.
func FetchInput(ctx context.Context, conn *connection.Conn, x *perdure.Execution) error {
	err := conn.Fetch(ctx, x.ID, &x.Input, x.InputBytes, x.InputSHA256)
	if x.PersistenceMode == perdure.Local && (perdure.IsCode(err, perdure.Unavailable) || perdure.IsCode(err, perdure.NotFound)) {
		return nil
	}
	return err
}

func showText(a *setup.App, x *perdure.Execution, entries []perdure.Entry, r terminal.Result, changed []uuid.UUID, work terminal.Work, h hold) error {
	v := terminal.NewTextView(a.Streams, a.ServerFlags)
	v.Results = terminal.ResultLimit{All: a.Stdout.Columns() == 0, Remedy: "perdure show " + x.ID.String() + a.ServerFlags + " | less"}
	v.Heading(fmt.Sprintf("%s · %s · started %s", x.Kind, heldStatus(x, h), x.CreatedAt.Local().Format(terminal.TimeFormat)))
	if x.Kind != perdure.ReactKind {
		v.Work(work)
	}
	v.AddEntries(entries)
	marked := map[uuid.UUID]bool{}
	for _, id := range changed {
		marked[id] = true
	}
	for _, e := range entries {
		if marked[e.ID] {
			v.Note(promptChangedText)
		}
		if err := v.Entry(e); err != nil {
			return err
		}
	}
	v.Running(work.Running, time.Now())
	for _, q := range work.Questions {
		v.Question(q)
	}
	if x.Kind == perdure.ReactKind {
		v.Signals(work.Signals)
	}
	return v.Result(r)
}

// showJSON prints the execution in the API's form, with its entries, its tasks and steps, its signals,
// its questions and its usage.
func showJSON(ctx context.Context, a *setup.App, conn *connection.Conn, x *perdure.Execution, entries []perdure.Entry, asked []*perdure.Question, r terminal.Result, changed []uuid.UUID) error {
	tasks, err := allOf(conn.AllTasks(ctx, x.ID))
	if err != nil {
		return err
	}
	signals, err := allOf(signalsOf(ctx, conn, x.ID))
	if err != nil {
		return err
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
	members["tasks"], members["signals"], members["questions"] = tasks, signals, asked
	members["entries"], members["usage"], members["usageByModel"], members["turns"] = entries, r.Usage, r.ByModel, r.Turns
	members["promptChanges"] = changed
	if r.StopReason != "" {
		members["stopReason"] = r.StopReason
	}
	return a.Stdout.PrintJSON(members)
}
