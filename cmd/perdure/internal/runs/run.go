package runs

import (
	"context"
	"fmt"

	"github.com/google/uuid"
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

// RunCommand is a command that starts a run and follows it, with the values of its flags.
type RunCommand struct {
	*setup.App
	agent      AgentFlags
	worker     builtin.Worker
	Definition string
	queue      string
	chat       bool
	detach     bool
	local      bool
	// If `plan` is set, the model gets only tools that change nothing. If noAgentsFile is set, the
	// system prompt does not contain the file AGENTS.md.
	plan, noAgentsFile bool
}

const runExamples = `  perdure run "Find out why the tests fail, and mend it"
  perdure run --model anthropic/claude-sonnet-5-5 --max-turns 20 "Write a README"
  perdure run --tools read-file,grep "Where is the retry policy?"
  git diff | perdure run --tools none --quiet - > review.md
  perdure run --chat "Let us look at this repository"
  perdure run --local "Sum up the letters in this folder"
  perdure run --json "Say hello" | jq -r 'select(.event == "token").data.data'`

func newRunCommand(a *setup.App) *cobra.Command {
	r := &RunCommand{App: a}
	cmd := &cobra.Command{
		Use: "run [flags] PROMPT", Short: "Start a run and follow it to its end", GroupID: "runs",
		Long: `Starts a run of the built-in agent and prints what it says and does as it comes:
text, thinking, tool calls with their output, and at the end what it used.

The run is durable: after Ctrl-C, a crash or a reboot, perdure resume continues it.
The prompt - is read from standard input.`,
		Example: runExamples,
		Args:    OnePrompt,
		RunE:    func(cmd *cobra.Command, args []string) error { return r.Run(cmd.Context(), args[0]) },
	}
	r.Flags(cmd)
	cmd.Flags().StringVar(&r.Definition, "definition", "", "start from this stored definition (id or slug)")
	return cmd
}

// Flags adds the flags of every command that starts a run.
func (r *RunCommand) Flags(cmd *cobra.Command) {
	r.agent.Flags(cmd)
	r.worker.Flags(cmd)
	r.agent.takesAuto = true
	cmd.Flags().Lookup("approve").Usage += "; auto, the default, is allow if this command's own worker confines bash, and else asks for bash"
	f := cmd.Flags()
	f.StringVar(&r.queue, "queue", "", "queue of the workers that are to run it, with --server or beside dev (default \"default\")")
	f.BoolVar(&r.chat, "chat", false, "go on with what you type until standard input ends")
	f.BoolVar(&r.detach, "detach", false, "start it, print its id and return; for a server that has workers")
	f.BoolVar(&r.local, "local", false, "keep the run's content on the worker that runs it, and none of it on the server")
	f.BoolVar(&r.plan, "plan", false, "only plan: offer only tools that change nothing")
	f.BoolVar(&r.noAgentsFile, "no-agents-md", false, "do not add AGENTS.md of the workspace to the system prompt")
	r.QuietFlag(cmd)
	r.JSONFlag(cmd)
}

// check validates the arguments and flags of the command before anything is created, and returns
// the request that starts the run. If the command names no models, the run uses the parameter
// `models`, or the default model if `models` is nil.
func (r *RunCommand) check(prompt string, models []perdure.ModelConfig) (client.StartRequest, error) {
	r.agent.IgnoreVariables = r.Definition != ""
	r.agent.Net = r.worker.Bash.Net
	q := client.StartRequest{OneShot: !r.chat, Config: r.agent.Config(), Tools: r.agent.ToolNames(), Queue: r.queue}
	if r.chat && prompt == "-" {
		return q, setup.NewUsageError("--chat reads what you type from standard input, so that the prompt cannot come from there", "give it as an argument")
	}
	if r.chat && r.Quiet {
		return q, setup.NewUsageError("--chat and --quiet do not go together", "leave one of them out")
	}
	if err := r.agent.Check(); err != nil {
		return q, err
	}
	var err error
	if q.Models, err = r.agent.ModelsGiven(); err != nil {
		return q, err
	}
	if q.Models == nil && r.Definition == "" {
		q.Models = models
	}
	if q.Models == nil && r.Definition == "" {
		if q.Models, err = builtin.DefaultModel(); err != nil {
			return q, err
		}
	}
	if q.Tools == nil && r.Definition == "" {
		all := BuiltinNames()
		q.Tools = &all
	}
	if r.local {
		q.PersistenceMode = perdure.Local
	}
	if q.Approvals, err = r.agent.Policy(); err != nil {
		return q, err
	}
	if r.agent.Given("system") {
		q.SystemPrompt = &r.agent.System
	}
	if r.Server == "" {
		if err := r.worker.CheckWorkspace(); err != nil {
			return q, err
		}
		if err := r.worker.CheckProviders(q.Models); err != nil {
			return q, err
		}
	}
	q.UserPrompt, err = readPrompt(r.App, prompt)
	q.IdempotencyKey = uuid.NewString()
	return q, err
}

// NewRequest returns the request that starts another run from within a chat. If the command names no
// models, the run uses the given ones.
func (r *RunCommand) NewRequest(models []perdure.ModelConfig) (client.StartRequest, error) {
	return r.check("", models)
}

// Run starts a run with the prompt and follows it to its end.
func (r *RunCommand) Run(ctx context.Context, prompt string) error {
	q, err := r.check(prompt, nil)
	if err != nil {
		return err
	}
	conn := &connection.RunConn{App: r.App, Worker: &r.worker}
	if err := conn.Connect(ctx); err != nil {
		return err
	}
	defer conn.Close(ctx)
	if r.chat && chat.Usable(r.App) && !r.detach {
		resume := &resumeCommand{App: r.App, worker: &r.worker, chat: true}
		return chat.Run(ctx, chat.Options{Conn: conn, Worker: &r.worker, Start: r, Attach: resume.attach}, chat.Target{Start: &q})
	}
	x, err := r.StartRun(ctx, conn, &q)
	if err != nil {
		return err
	}
	if r.detach {
		return printExecution(r.App, x, func() { fmt.Fprintln(r.Stdout, x.ID) })
	}
	w := watcher.New(r.App, conn, x.ID)
	w.Chat = r.chat
	w.Started(x)
	return w.FollowToEnd(ctx)
}

// StartRun starts the run. If the run needs a worker in this process, StartRun starts that worker too.
func (r *RunCommand) StartRun(ctx context.Context, conn *connection.RunConn, q *client.StartRequest) (*perdure.Execution, error) {
	if err := r.chooseQueue(conn.Conn, q); err != nil {
		return nil, err
	}
	if err := r.resolveDefinition(ctx, conn.Conn, q); err != nil {
		return nil, err
	}
	if err := conn.StartWorker(ctx, q.Queue); err != nil {
		return nil, err
	}
	if r.local && conn.HasWorker {
		r.worker.Home = &r.worker.ID // the same worker executes the run after a reconnect
	}
	if err := r.askUnconfined(conn, q); err != nil {
		return nil, err
	}
	q.Waits = func() {
		_ = r.Stderr.Linef("perdure: no worker has registered yet; waiting for one, up to %s", client.WorkerWait)
	}
	return conn.Start(ctx, *q)
}

// askUnconfined makes the run ask for approval before each bash command, if the worker in this process
// cannot confine such commands. It leaves the run unchanged if the user has decided with --approve,
// --confine off or a definition.
func (r *RunCommand) askUnconfined(conn *connection.RunConn, q *client.StartRequest) error {
	auto := r.agent.approve == "" || r.agent.approve == approveAuto
	if !auto || r.Definition != "" || !conn.HasWorker || r.worker.Confines(conn.Data) {
		return nil
	}
	if r.worker.Unconfined() {
		return nil // the user has chosen to run without confinement
	}
	q.Approvals = perdure.ApprovalPolicy{{Tools: []string{"bash"}, Then: perdure.ApprovalAsk, Reason: "Commands are not confined on this machine."}}
	return r.Stderr.Linef("perdure: commands cannot be confined here, so each bash call asks for your approval (--approve allow lets them run)")
}

// resolveDefinition finds the agent definition that the user named, and sets it in the request. The
// values of flags replace or extend the settings of the definition.
func (r *RunCommand) resolveDefinition(ctx context.Context, conn *connection.Conn, q *client.StartRequest) error {
	if r.Definition == "" {
		return r.instruct(conn, q, nil)
	}
	d, err := lookup.FindDefinition(ctx, conn.Client, r.Definition)
	if err != nil {
		return err
	}
	q.DefinitionID = &d.ID
	if err := r.instruct(conn, q, d); err != nil {
		return err
	}
	if conn.HasNoWorkers() && q.Models == nil {
		return r.worker.CheckModels(d.Models)
	}
	return nil
}
