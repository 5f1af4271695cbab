package main

import (
	"github.com/perdure/perdure/cmd/perdure/internal/admin"
	"github.com/perdure/perdure/cmd/perdure/internal/questions"
	"github.com/perdure/perdure/cmd/perdure/internal/runs"
	"github.com/perdure/perdure/cmd/perdure/internal/serving"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

const about = `Perdure runs AI agents that outlast the process they run in.

Start with one run in the current folder:

  export ANTHROPIC_API_KEY=...        # or OPENAI_API_KEY, GEMINI_API_KEY
  perdure run "Find out why the tests fail, and mend it"

Ctrl-C interrupts the run; perdure resume ID continues it. Model calls that were
answered and tools that had finished are not repeated. perdure dev serves a web
page, and runs beside it become its clients.

A command uses the server of --server URL (with --key), else the process that owns
the data directory, else it opens the data directory itself.

Every flag can be set by a variable: --model by PERDURE_MODEL, and so on, or by
a file: PERDURE_KEY_FILE names one with the key.

Exit codes: 0 completed, 1 failed, 2 usage, 3 cancelled, 4 waiting for you,
130 interrupted.`

// newRootCommand returns the whole command line.
func newRootCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "perdure", Short: "A durable runtime for AI agents", Long: about, Version: a.Version,
		SilenceUsage: true, SilenceErrors: true,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.Begin(cmd); err != nil {
				return err
			}
			return setup.CheckFlagGroups(cmd) // must follow Begin, which sets flags from environment variables
		},
	}
	a.Flags(cmd)
	cmd.SetFlagErrorFunc(setup.FlagError)
	cmd.SetOut(a.Stdout)
	cmd.SetErr(a.Stderr)
	cmd.AddGroup(&cobra.Group{ID: "runs", Title: "Runs:"}, &cobra.Group{ID: "serve", Title: "Serving:"}, &cobra.Group{ID: "keep", Title: "Administration:"})
	for _, group := range [][]*cobra.Command{runs.Commands(a), questions.Commands(a), serving.Commands(a), admin.Commands(a), {newVersionCommand(a)}} {
		cmd.AddCommand(group...)
	}
	setup.ExplainArguments(cmd)
	return cmd
}
