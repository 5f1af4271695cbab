package runs

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/chat"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
	"github.com/spf13/cobra"
)

// resumeCommand is the command that continues a run.
type resumeCommand struct {
	*setup.App
	worker *builtin.Worker
	chat   bool
	start  *RunCommand // starts the next runs of a chat; nil if the command cannot start runs
}

func newResumeCommand(a *setup.App) *cobra.Command {
	r := &resumeCommand{App: a, worker: &builtin.Worker{}}
	cmd := &cobra.Command{
		Use: "resume ID [PROMPT]", Short: "Continue a run", GroupID: "runs",
		Long: `Continues a run that was interrupted, or that waits for you, and follows it. Model
calls that were answered and tools that had finished are not repeated.

PROMPT is sent to the run as your next message. Without it, a --chat run whose model
failed asks the model again. ID may be "last", the newest run.`,
		Example: `  perdure resume last
  perdure resume 0199d7e2-... "Now write the tests"`,
		Args: cobra.RangeArgs(1, 2), ValidArgsFunction: lookup.Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.run(cmd.Context(), args[0], strings.Join(args[1:], ""))
		},
	}
	r.worker.Flags(cmd)
	cmd.Flags().Lookup("workspace").Usage = "folder that the tools work in (default: the one that the run began in)"
	cmd.Flags().BoolVar(&r.chat, "chat", false, "go on with what you type until standard input ends")
	r.QuietFlag(cmd)
	r.JSONFlag(cmd)
	return cmd
}

func (r *resumeCommand) run(ctx context.Context, id, prompt string) error {
	var err error
	if prompt, err = readPrompt(r.App, prompt); err != nil {
		return err
	}
	conn := &connection.RunConn{App: r.App, Worker: r.worker}
	if err := conn.Connect(ctx); err != nil {
		return err
	}
	defer conn.Close(ctx)
	x, err := lookup.Find(ctx, conn.Client, id)
	if err != nil {
		return err
	}
	if x.Status.Terminal() {
		w := watcher.New(r.App, conn, x.ID)
		w.Chat = r.chat
		return w.ReportUnsent(ctx, r.showEnded(ctx, w, x, prompt))
	}
	if r.chat && chat.Usable(r.App) {
		o := chat.Options{Conn: conn, Worker: r.worker, Attach: r.attach}
		if r.start != nil {
			o.Start = r.start
		}
		return chat.Run(ctx, o, chat.Target{Resume: x, Prompt: prompt})
	}
	w := watcher.New(r.App, conn, x.ID)
	w.Chat = r.chat
	if err := r.attach(ctx, w, x, prompt); err != nil {
		return err
	}
	return w.FollowToEnd(ctx)
}

// attach prepares the watcher of a run that has not ended, sends the prompt, and starts a worker if
// the run needs one in this process.
func (r *resumeCommand) attach(ctx context.Context, w *watcher.Watcher, x *perdure.Execution, prompt string) error {
	if w.NeedsWorker(x.Queue) {
		r.worker.Home = x.HomeID
		if err := w.Fetch(ctx, x.ID, &x.Input, x.InputBytes, x.InputSHA256); err != nil {
			return err
		}
		if err := r.prepareWorker(w.RunConn, x); err != nil {
			return err
		}
	}
	waits, err := r.wake(ctx, w, x, prompt)
	if err != nil {
		return err
	}
	if waits {
		w.Status, w.Reason = perdure.StatusWaiting, lookup.WaitsForSignal
	}
	if !waits || r.chat {
		return w.StartWorker(ctx, x.Queue)
	}
	return nil
}

func (r *resumeCommand) showEnded(ctx context.Context, w *watcher.Watcher, x *perdure.Execution, prompt string) error {
	if prompt != "" {
		return perdure.Errorf(perdure.ExecutionEnded, "the run %s is %s and takes no more messages; start another one with perdure run", x.ID, strings.ToLower(string(x.Status)))
	}
	return w.ShowResult(ctx)
}

// prepareWorker finds the run's workspace, and checks that this process can call the run's models.
func (r *resumeCommand) prepareWorker(conn *connection.RunConn, x *perdure.Execution) error {
	if r.worker.Workspace == "" {
		r.worker.Workspace = workspaceOf(conn.Conn.Data, x)
	}
	if err := r.worker.CheckWorkspace(); err != nil {
		return err
	}
	var in perdure.ReactInput
	if x.Kind != perdure.ReactKind || json.Unmarshal(x.Input, &in) != nil {
		return nil
	}
	return r.worker.CheckModels(in.Models)
}

// workspaceOf returns the root of the run's workspace: the one in the run's metadata if the run is
// on a private queue, and otherwise the workspace of the worker of perdure dev. "" means the
// current directory.
func workspaceOf(data string, x *perdure.Execution) string {
	var metadata map[string]any
	if json.Unmarshal(x.Metadata, &metadata) == nil {
		if root, ok := metadata[workspaceMember].(string); ok && strings.HasPrefix(x.Queue, connection.PrivateQueue) {
			return root
		}
	}
	raw, err := os.ReadFile(connection.WorkspaceFile(data))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// pastEntries is the number of the newest entries that a command reads when it continues a run.
const pastEntries = 100

// wake sends the signal that continues the run: `prompt` as the user's message or, after a failed
// turn, the signal "retry". It returns true if it has sent nothing and the run waits for a signal. If
// there is no prompt and the run waits for answers to its questions, wake sends nothing, and sets
// w.Status and w.Reason.
func (r *resumeCommand) wake(ctx context.Context, w *watcher.Watcher, x *perdure.Execution, prompt string) (waits bool, err error) {
	snapshot, err := w.Snapshot(ctx, x.ID, pastEntries)
	if err != nil {
		return false, err
	}
	w.Cursor = snapshot.Cursor
	w.View.Started(x)
	w.View.AddEntries(snapshot.Entries)
	if w.Session != nil {
		if err := w.Session.ShowPast(ctx, snapshot); err != nil {
			return false, err
		}
	}
	if wait := snapshot.Execution.Wait; prompt != "" && wait != nil && len(wait.Signals()) > 0 && !wait.TakesSignal(perdure.UserMessage) {
		return false, setup.NewUsageError(
			"the run waits for the signal "+wait.Signals()[0]+", and not for a message",
			"perdure signal "+x.ID.String()+" "+wait.Signals()[0]+" JSON"+r.ServerFlags,
		)
	}
	if prompt != "" {
		w.View.UserMessage("")
		_, err := w.Signal(ctx, x.ID, client.UserMessage(prompt))
		return false, err
	}
	x = snapshot.Execution
	if x.Status == perdure.StatusWaiting && x.WaitReason == lookup.WaitsForQuestion {
		w.Status, w.Reason = perdure.StatusWaiting, lookup.WaitsForQuestion
		return false, nil
	}
	if x.Status != perdure.StatusWaiting || x.WaitReason != lookup.WaitsForSignal || x.Wait == nil {
		return false, nil
	}
	state, err := lookup.ReadAgentState(ctx, w.RunConn.Conn, x)
	if err != nil {
		return false, err
	}
	if state.StopReason == perdure.StopError && slices.Contains(x.Wait.Signals(), perdure.RetrySignal) {
		_, err := w.Signal(ctx, x.ID, client.SignalRequest{Name: perdure.RetrySignal, Value: json.RawMessage("null")})
		return false, err
	}
	return true, nil
}
