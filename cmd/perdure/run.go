package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

// runner is the command that starts a run and follows it.
type runner struct {
	*app
	spec       spec
	standard   standard
	definition string
	queue      string
	chat       bool
	detach     bool
	local      bool
}

const runExamples = `  perdure run "Find out why the tests fail, and mend it"
  perdure run --model anthropic/claude-sonnet-5-5 --max-turns 20 "Write a README"
  perdure run --tools read-file,grep "Where is the retry policy?"
  git diff | perdure run --tools none --quiet - > review.md
  perdure run --chat "Let us look at this repository"
  perdure run --local "Sum up the letters in this folder"
  perdure run --json "Say hello" | jq -r 'select(.event == "token").data.data'`

func (a *app) runCommand() *cobra.Command {
	r := &runner{app: a}
	cmd := &cobra.Command{
		Use: "run [flags] PROMPT", Short: "Start a run and follow it to its end", GroupID: "runs",
		Long: `Starts a run of the built-in agent and prints what it says and does as it comes:
text, thinking, tool calls with their output, and at the end what it used.

The run is durable: after Ctrl-C, a crash or a reboot, perdure resume continues it.
The prompt - is read from standard input.`,
		Example: runExamples,
		Args:    onePrompt,
		RunE:    func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0]) },
	}
	r.flags(cmd)
	cmd.Flags().StringVar(&r.definition, "definition", "", "start from this stored definition (id or slug)")
	return cmd
}

func (r *runner) flags(cmd *cobra.Command) {
	r.spec.flags(cmd)
	r.standard.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&r.queue, "queue", "", "queue of the workers that are to run it, with --server or beside dev (default \"default\")")
	f.BoolVar(&r.chat, "chat", false, "go on with what you type until standard input ends")
	f.BoolVar(&r.detach, "detach", false, "start it, print its id and return; for a server that has workers")
	f.BoolVar(&r.local, "local", false, "keep the run's content on the worker that runs it, and none of it on the server")
	r.quietFlag(cmd)
	r.jsonFlag(cmd)
}

func onePrompt(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 || strings.TrimSpace(args[len(args)-1]) == "":
		return usageError{"the prompt is missing", "say what is to be done: " + cmd.CommandPath() + ` "Find out why the tests fail"`}
	case len(args) > 1:
		return usageError{"there is more than one prompt", "put it in quotes: " + cmd.CommandPath() + ` "` + strings.Join(args, " ") + `"`}
	}
	return nil
}

// readPrompt returns the prompt; for "-" it reads standard input.
func (a *app) readPrompt(prompt string) (string, error) {
	if prompt != "-" {
		return prompt, nil
	}
	raw, err := io.ReadAll(a.stdin)
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(string(raw)) == "" {
		return "", usageError{"the prompt on standard input is empty", "write it there, or give it in place of -"}
	}
	return string(raw), nil
}

// check validates the command before anything is created, and returns the request.
func (r *runner) check(prompt string) (client.StartRequest, error) {
	r.spec.typed = r.definition != ""
	r.spec.net = r.standard.fences.net
	q := client.StartRequest{OneShot: !r.chat, Config: r.spec.config(), Tools: r.spec.toolNames(), Queue: r.queue}
	if r.chat && prompt == "-" {
		return q, usageError{"--chat reads what you type from standard input, so that the prompt cannot come from there", "give it as an argument"}
	}
	if r.chat && r.quiet {
		return q, usageError{"--chat and --quiet do not go together", "leave one of them out"}
	}
	if err := r.spec.check(); err != nil {
		return q, err
	}
	var err error
	if q.Models, err = r.spec.modelsGiven(); err != nil {
		return q, err
	}
	if q.Models == nil && r.definition == "" {
		if q.Models, err = defaultModel(); err != nil {
			return q, err
		}
	}
	if q.Tools == nil && r.definition == "" {
		all := builtinNames()
		q.Tools = &all
	}
	if r.local {
		q.PersistenceMode = perdure.Local
	}
	if r.spec.given("system") {
		q.SystemPrompt = &r.spec.system
	}
	if r.server == "" {
		if err := r.standard.open(); err != nil {
			return q, err
		}
		if err := r.standard.checkProviders(q.Models); err != nil {
			return q, err
		}
	}
	q.UserPrompt, err = r.readPrompt(prompt)
	q.IdempotencyKey = uuid.NewString()
	return q, err
}

func (r *runner) run(ctx context.Context, prompt string) error {
	q, err := r.check(prompt)
	if err != nil {
		return err
	}
	t := &seat{app: r.app, standard: &r.standard}
	if err := t.connect(ctx); err != nil {
		return err
	}
	defer t.leave(ctx)
	if err := r.place(t.link, &q); err != nil {
		return err
	}
	if err := r.define(ctx, t.link, &q); err != nil {
		return err
	}
	if err := t.work(ctx, q.Queue); err != nil {
		return err
	}
	if r.local && t.works {
		r.standard.home = &r.standard.id // also if it takes a seat again
	}
	q.Waits = func() {
		_ = r.stderr.say("perdure: no worker has registered yet; waiting for one, up to %s", client.WorkerWait)
	}
	x, err := t.Start(ctx, q)
	if err != nil {
		return err
	}
	if r.detach {
		return r.printExecution(x, func() { fmt.Fprintln(r.stdout, x.ID) })
	}
	w := r.watcher(t, x.ID)
	w.chat = r.chat
	w.started(x)
	return w.toTheEnd(ctx)
}

// define finds the definition that the user named.
func (r *runner) define(ctx context.Context, l *link, q *client.StartRequest) error {
	if r.definition == "" {
		return nil
	}
	d, err := findDefinition(ctx, l.Client, r.definition)
	if err != nil {
		return err
	}
	q.DefinitionID = &d.ID
	if l.embedded() && q.Models == nil {
		return r.standard.checkModels(d.Models)
	}
	return nil
}

// place determines where the run works: in this process, on a private queue, or at the server's
// worker.
func (r *runner) place(l *link, q *client.StartRequest) error {
	metadata, err := r.spec.metadataJSON()
	if err != nil {
		return err
	}
	if l.embedded() {
		if r.detach {
			return usageError{"there is no server to leave the run to", "start perdure dev, or leave --detach out"}
		}
		if err := r.standard.checkModels(q.Models); err != nil {
			return err
		}
		if err := r.spec.checkTools(); err != nil {
			return err
		}
		q.Queue = privateQueue + uuid.NewString()
		metadata[workspaceMember] = r.standard.workspace
	} else if q.Workspace, err = r.remoteWorkspace(l); err != nil {
		return err
	}
	if _, given := metadata[titleMember]; !given && !r.local { // the prompt of a LOCAL run stays on its worker
		if title := titleOf(q.UserPrompt); title != "" {
			metadata[titleMember] = title
		}
	}
	if len(metadata) > 0 {
		q.Metadata = rawOf(metadata)
	}
	return nil
}

const (
	// privateQueue is the prefix of the queue of a run that a command runs by itself. No other
	// worker continues it by chance, in another directory.
	privateQueue = "run:"
	// workspaceMember is the member of such a run's metadata with its workspace.
	workspaceMember = "workspaceRoot"
	// titleMember is the member of a run's metadata with its title for lists.
	titleMember = "title"
	// longestTitle is the maximum length of a title in characters.
	longestTitle = 120
)

// titleOf returns the beginning of a prompt in one line.
func titleOf(prompt string) string {
	title := strings.Join(strings.Fields(cleanAll(prompt)), " ")
	if r := []rune(title); len(r) > longestTitle {
		title = strings.TrimSpace(string(r[:longestTitle-1])) + "…"
	}
	return title
}

// remoteWorkspace returns the workspace relative to the root of the worker that will run the run.
func (r *runner) remoteWorkspace(l *link) (string, error) {
	given := r.standard.workspace
	if l.owner == nil || l.owner.Workspace == "" {
		if l.owner != nil && !r.spec.given("workspace") {
			return "", nil
		}
		if l.owner == nil && filepath.IsAbs(given) {
			return "", usageError{"--workspace " + given + " is absolute, but the folder is one of the server's workers", "give it relative to the workspace of that worker"}
		}
		return given, nil
	}
	root := l.owner.Workspace
	rel, err := filepath.Rel(realPath(root), realPath(given))
	if err != nil || !filepath.IsLocal(rel) {
		return "", usageError{
			"the folder " + given + " is outside the workspace of the perdure dev that owns the data directory, " + root,
			"go there, start perdure dev in a folder that holds both, or give this run a data directory of its own with --data",
		}
	}
	return filepath.ToSlash(rel), nil
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// printExecution prints one execution as JSON, or calls plain.
func (a *app) printExecution(x *perdure.Execution, plain func()) error {
	if a.json {
		return a.printJSON(x)
	}
	plain()
	return nil
}
