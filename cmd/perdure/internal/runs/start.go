package runs

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
	"github.com/spf13/cobra"
)

// startCommand is perdure start, which starts a run of any kind for the workers of a server to execute.
type startCommand struct {
	*setup.App
	queue    string
	key      string
	metadata []string
	approve  string
	detach   bool
	local    bool
}

func newStartCommand(a *setup.App) *cobra.Command {
	s := &startCommand{App: a}
	cmd := &cobra.Command{
		Use: "start KIND [JSON]", Short: "Start a run of an agent of your own", GroupID: "runs",
		Long: `Starts a run of an agent that a worker has registered, and follows it to its end.
The input is any JSON, null if it is left out; - reads it from standard input. It
has to fit the schema of the kind: an input that does not fit, or is missing, is
answered with the fields and an example. Without KIND the command lists the kinds.

The run belongs to the server: after Ctrl-C it goes on, and perdure tail follows it
again. perdure run starts the built-in agent.`,
		Example: `  perdure start greeter '["ann", "bob"]'
  perdure start order '{"number": "A-17"}' --idempotency-key order-A-17 --detach
  perdure start report - < input.json
  perdure start shop '{"order": 7}' --approve '[{"tools": ["refund"], "then": "ask"}]'`,
		Args: cobra.MaximumNArgs(2), ValidArgsFunction: completeKinds(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return s.errNoKind(cmd)
			}
			q := client.StartRequest{Kind: args[0], Queue: s.queue, IdempotencyKey: s.key}
			if len(args) == 2 {
				var err error
				if q.Input, err = readJSON(a, args[1]); err != nil {
					q.Input = json.RawMessage(args[1])
					running(cmd.Context(), a, func(ctx context.Context, c *client.Client) { err = s.explainInput(ctx, c, q, err) })
					return err
				}
			}
			return s.run(cmd.Context(), q)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.queue, "queue", "", "queue of the workers that are to run it (default \"default\")")
	f.StringVar(&s.key, "idempotency-key", "", "name of this start: the same start again within 24 hours returns the same run")
	f.StringArrayVar(&s.metadata, "metadata", nil, "KEY=VALUE to find the run by; may be repeated")
	f.StringVar(&s.approve, "approve", "", "which tasks wait for an approval: a list of rules as JSON, or one of "+perdure.ReadyPolicies)
	f.BoolVar(&s.detach, "detach", false, "print its id and return")
	f.BoolVar(&s.local, "local", false, "keep the run's content on the worker that runs it, and none of it on the server")
	a.QuietFlag(cmd)
	a.JSONFlag(cmd)
	return cmd
}

func (s *startCommand) run(ctx context.Context, q client.StartRequest) error {
	if q.Kind == perdure.ReactKind {
		return setup.NewUsageError("the built-in agent begins with a prompt", `perdure run "..." starts it`)
	}
	metadata, err := metadataOf(s.metadata)
	if err != nil {
		return err
	}
	if len(metadata) > 0 {
		q.Metadata = rawOf(metadata)
	}
	if q.Approvals, err = parsePolicy(s.approve, perdure.ReadyPolicies); err != nil {
		return err
	}
	if s.local {
		q.PersistenceMode = perdure.Local
	}
	if q.IdempotencyKey == "" {
		q.IdempotencyKey = uuid.NewString() // the same for all attempts below, so that they start one run
	}
	return connection.Request(ctx, s.App, func(conn *connection.Conn) error {
		if conn.HasNoWorkers() {
			return setup.NewUsageError("no server is up, so no worker could run it", "start perdure dev, and the worker of the agent")
		}
		x, err := s.startSoon(ctx, conn, q)
		switch {
		case isAbout(err, "kind"):
			return s.explainKind(ctx, conn.Client, q.Kind, err)
		case isAbout(err, "input"):
			return s.explainInput(ctx, conn.Client, q, err)
		case err != nil:
			return err
		}
		if s.detach {
			return printExecution(s.App, x, func() { _ = s.Stdout.Linef("%s", x.ID) })
		}
		w := watcher.New(s.App, &connection.RunConn{App: s.App, Conn: conn}, x.ID)
		w.Patient = true
		w.View.Started(x)
		w.IncludeSteps(x)
		_, err = w.Follow(ctx)
		switch {
		case ctx.Err() != nil:
			return w.PrintInterrupted()
		case err != nil:
			return err
		}
		return w.ShowResult(ctx)
	})
}

// startSoon starts the run. If no worker has registered the kind of the run, startSoon tries again for a
// while, because such a worker may be starting at the same moment.
func (s *startCommand) startSoon(ctx context.Context, conn *connection.Conn, q client.StartRequest) (*perdure.Execution, error) {
	const pause = 500 * time.Millisecond
	q.Waits = func() {
		_ = s.Stderr.Linef("perdure: no worker has registered %s yet; waiting for one, up to %s", q.Kind, client.WorkerWait)
	}
	for left := client.WorkerWait; ; left -= pause {
		x, err := conn.Start(ctx, q)
		if !isAbout(err, "kind") || left <= 0 {
			return x, err
		}
		if left == client.WorkerWait {
			q.Waits()
			q.Waits = nil
		}
		if err := connection.Pause(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func completeKinds(a *setup.App) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		if len(args) > 0 || setup.ReadVariables(cmd.Flags()) != nil {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second)
		defer cancel()
		conn, err := connection.ConnectRunning(ctx, a)
		if err != nil {
			return nil, none
		}
		defer func() { _ = conn.Close() }() // the connection was only read
		var kinds []string
		for kind, err := range conn.Kinds(ctx, perdure.KindAgent) {
			if err != nil {
				break
			}
			kinds = append(kinds, kind.Kind)
		}
		return kinds, none
	}
}
