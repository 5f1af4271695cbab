package runs

import (
	"context"
	"regexp"

	"github.com/google/uuid"
	"github.com/perdure/perdure/cmd/perdure/internal/chat"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

const chatExamples = `  perdure chat
  perdure chat "Let us look at this repository"
  perdure chat --model anthropic/claude-sonnet-5-5
  perdure chat last
  perdure chat --resume 0199d7e2-... "Now write the tests"`

func newChatCommand(a *setup.App) *cobra.Command {
	r := &RunCommand{App: a}
	var resume string
	cmd := &cobra.Command{
		Use: "chat [flags] [ID] [PROMPT]", Short: "Talk with the agent in the terminal", GroupID: "runs",
		Long: `Starts a run of the built-in agent, or continues the run with the ID, and goes on with
what you type. ID may be "last".

The input line stays below the output, and takes input while the agent works. Enter
sends it; Alt-Enter, Ctrl-J or a backslash before Enter begin another line. Up and
Down recall earlier inputs; Tab completes /commands and @files. Esc stops the turn;
Ctrl-C twice leaves the chat, and perdure chat ID continues it. /help lists the
commands.

If standard input is not a terminal, each line of it is a message.`,
		Example: chatExamples,
		Args:    cobra.MaximumNArgs(2), ValidArgsFunction: lookup.Complete(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.chat = true
			id, prompt, err := chatArguments(resume, args)
			if err != nil {
				return err
			}
			if id == "" {
				return r.startChat(cmd.Context(), prompt)
			}
			return r.resumeChat(cmd.Context(), id, prompt)
		},
	}
	r.Flags(cmd)
	_ = cmd.Flags().MarkHidden("chat")
	cmd.Flags().StringVar(&r.Definition, "definition", "", "start from this stored definition (id or slug)")
	cmd.Flags().StringVar(&resume, "resume", "", "continue this run (an id, or last)")
	return cmd
}

// chatArguments returns the id of the run to continue and the prompt. The id is "" if the chat starts a new
// run. Error: UsageError.
func chatArguments(resume string, args []string) (id, prompt string, err error) {
	if resume == "" && len(args) > 0 && namesRun(args[0]) {
		resume, args = args[0], args[1:]
	}
	if resume == "" && len(args) > 0 && partOfID.MatchString(args[0]) {
		return "", "", setup.NewUsageError(args[0]+" is no whole id of a run", "perdure runs lists the ids; last stands for the newest")
	}
	if len(args) > 1 {
		return "", "", OnePrompt(&cobra.Command{Use: "perdure chat"}, args)
	}
	if len(args) == 1 {
		prompt = args[0]
	}
	return resume, prompt, nil
}

// partOfID matches an argument that looks like a shortened or mistyped id. The command refuses such
// an argument: sent as a prompt, it would cost a model call.
var partOfID = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-zA-Z-]{0,40}$`)

// namesRun reports whether an argument names a run: it is an id, or the word "last".
func namesRun(arg string) bool {
	_, err := uuid.Parse(arg)
	return arg == lookup.Last || err == nil && len(arg) == 36
}

// startChat starts a chat with a new run. If `prompt` is empty, the first line that the user types
// is the prompt.
func (r *RunCommand) startChat(ctx context.Context, prompt string) error {
	if prompt == "" && !chat.Usable(r.App) {
		line, ok, err := r.Lines().Read(ctx)
		if err != nil {
			return err
		}
		if !ok || line == "" {
			return setup.NewUsageError("there is no prompt: standard input is empty", "give the prompt as an argument")
		}
		prompt = line
	}
	return r.Run(ctx, prompt)
}

// resumeChat opens a chat that continues an existing run.
func (r *RunCommand) resumeChat(ctx context.Context, id, prompt string) error {
	if !r.agent.Given("workspace") {
		r.worker.Workspace = ""
	}
	c := &resumeCommand{App: r.App, worker: &r.worker, chat: true, start: r}
	return c.run(ctx, id, prompt)
}
