package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

// resumer is the command that continues a run.
type resumer struct {
	*app
	standard standard
	chat     bool
}

func (a *app) resumeCommand() *cobra.Command {
	r := &resumer{app: a}
	cmd := &cobra.Command{
		Use: "resume ID [PROMPT]", Short: "Continue a run", GroupID: "runs",
		Long: `Continues a run that was interrupted, or that waits for you, and follows it. Model
calls that were answered and tools that had finished are not repeated.

PROMPT is sent to the run as your next message. Without it, a --chat run whose model
failed asks the model again. ID may be "last", the newest run.`,
		Example: `  perdure resume last
  perdure resume 0199d7e2-... "Now write the tests"`,
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	r.standard.flags(cmd)
	cmd.Flags().Lookup("workspace").Usage = "folder that the tools work in (default: the one that the run began in)"
	cmd.Flags().BoolVar(&r.chat, "chat", false, "go on with what you type until standard input ends")
	r.quietFlag(cmd)
	r.jsonFlag(cmd)
	return cmd
}

func (r *resumer) run(ctx context.Context, args []string) error {
	prompt := ""
	if len(args) > 1 {
		var err error
		if prompt, err = r.readPrompt(args[1]); err != nil {
			return err
		}
	}
	t := &seat{app: r.app, standard: &r.standard}
	if err := t.connect(ctx); err != nil {
		return err
	}
	defer t.leave(ctx)
	x, err := findRun(ctx, t.Client, args[0])
	if err != nil {
		return err
	}
	w := r.watcher(t, x.ID)
	w.chat = r.chat
	if x.Status.Terminal() {
		return r.ended(ctx, w, x, prompt)
	}
	if t.needsWorker(x.Queue) {
		r.standard.home = x.HomeID
		if err := t.Fetch(ctx, x.ID, &x.Input, x.InputBytes, x.InputSHA256); err != nil {
			return err
		}
		if err := r.ready(t, x); err != nil {
			return err
		}
	}
	waits, err := r.wake(ctx, w, x, prompt)
	if err != nil {
		return err
	}
	if waits {
		w.status = perdure.StatusWaiting
	}
	if !waits || r.chat {
		if err := t.work(ctx, x.Queue); err != nil {
			return err
		}
	}
	return w.toTheEnd(ctx)
}

func (r *resumer) ended(ctx context.Context, w *watcher, x *perdure.Execution, prompt string) error {
	if prompt != "" {
		return perdure.Errorf(perdure.ExecutionEnded, "the run %s is %s and takes no more messages; start another one with perdure run", x.ID, strings.ToLower(string(x.Status)))
	}
	return w.end(ctx)
}

// ready finds the run's workspace, and checks that its models can be called from here.
func (r *resumer) ready(t *seat, x *perdure.Execution) error {
	if r.standard.workspace == "" {
		r.standard.workspace = workspaceOf(t.link.data, x)
	}
	if err := r.standard.open(); err != nil {
		return err
	}
	var in perdure.ReactInput
	if x.Kind != perdure.ReactKind || json.Unmarshal(x.Input, &in) != nil {
		return nil
	}
	return r.standard.checkModels(in.Models)
}

// workspaceOf returns the workspace root of the run: its own, or that of the dev server that
// started it. "" means the current directory.
func workspaceOf(data string, x *perdure.Execution) string {
	var metadata map[string]any
	if json.Unmarshal(x.Metadata, &metadata) == nil {
		if root, ok := metadata[workspaceMember].(string); ok && strings.HasPrefix(x.Queue, privateQueue) {
			return root
		}
	}
	raw, err := os.ReadFile(workspaceFile(data))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// workspaceFile is the file with the workspace root of dev's worker, for later commands.
func workspaceFile(data string) string { return filepath.Join(data, "workspace") }

// wake sends the signal that continues the run. It reports whether the run then still waits for the
// user.
func (r *resumer) wake(ctx context.Context, w *watcher, x *perdure.Execution, prompt string) (waits bool, err error) {
	snapshot, err := w.Snapshot(ctx, x.ID, 100)
	if err != nil {
		return false, err
	}
	w.cursor = snapshot.Cursor
	w.view.started(x)
	w.view.know(snapshot.Entries)
	if wait := snapshot.Execution.Wait; prompt != "" && wait != nil && len(wait.Signals()) > 0 && !wait.TakesSignal(perdure.UserMessage) {
		return false, usageError{
			"the run waits for the signal " + wait.Signals()[0] + ", and not for a message",
			"perdure signal " + x.ID.String() + " " + wait.Signals()[0] + " JSON" + r.typed,
		}
	}
	if prompt != "" {
		w.view.said("")
		_, err := w.Signal(ctx, x.ID, client.UserMessage(prompt))
		return false, err
	}
	x = snapshot.Execution
	if x.Status != perdure.StatusWaiting || x.WaitReason != "signal" || x.Wait == nil {
		return false, nil
	}
	state, err := w.stateOf(ctx, x)
	if err != nil {
		return false, err
	}
	if state.StopReason == perdure.StopError && slices.Contains(x.Wait.Signals(), retrySignal) {
		_, err := w.Signal(ctx, x.ID, client.SignalRequest{Name: retrySignal, Value: json.RawMessage("null")})
		return false, err
	}
	return true, nil
}

// retrySignal requests a retry of a failed turn from the react agent.
const retrySignal = "retry"
