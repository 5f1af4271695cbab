package admin

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/runs"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/spf13/cobra"
)

func newDefinitionsCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "definitions", Short: "Store agents: prompt, models, tools and limits", GroupID: "keep", Aliases: []string{"defs"},
		Example: "  perdure definitions create --name Reviewer --model anthropic/claude-sonnet-5-5 --system \"You review code.\"\n  perdure definitions list\n  perdure definitions run reviewer \"Review the last commit\"",
		Long: `A definition is a stored agent. A run copies it when it starts, so that later
changes do not touch it. A definition is named by its id or its slug.`,
		Args: setup.NoCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newListCommand(a, "definitions", "List the definitions", (*client.Client).Definitions, printDefinitions), newDefinitionsGetCommand(a), newDefinitionsCreateCommand(a), newDefinitionsUpdateCommand(a),
		newDefinitionsDeleteCommand(a), newDefinitionsRunCommand(a),
	)
	return cmd
}

func printDefinitions(a *setup.App, all []*perdure.Definition) error {
	if a.JSON {
		return a.Stdout.PrintJSON(client.Page[*perdure.Definition]{Items: all})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "no definitions")
		return err
	}
	t := terminal.Table{Columns: []terminal.Column{{Head: "SLUG"}, {Head: "NAME", Omit: 3}, {Head: "MODELS", Omit: 1}, {Head: "ID", Omit: 2}, {Head: "TOOLS", Cut: true}}}
	for _, d := range all {
		t.Add(d.Slug, d.Name, modelNames(d.Models), d.ID.String(), strings.Join(d.Tools, ","))
	}
	return t.Print(a.Stdout)
}

func modelNames(models []perdure.ModelConfig) string {
	var names []string
	for _, m := range models {
		names = append(names, m.String())
	}
	return strings.Join(names, ",")
}

// printDefinition prints a definition as JSON, in the form that the commands create and update
// read. If the parameter `plain` is not empty and --json is not set, it instead prints one line
// that ends with `plain`.
func printDefinition(a *setup.App, d *perdure.Definition, plain string) error {
	if a.JSON || plain == "" {
		return a.Stdout.PrintJSON(d)
	}
	err := a.Stdout.Linef("definition %s (%s) %s", d.Slug, d.ID, plain)
	return err
}

func newDefinitionsGetCommand(a *setup.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "get NAME", Short: "Show a definition as JSON", Args: cobra.ExactArgs(1), Aliases: []string{"show"},
		Example: "  perdure definitions get reviewer\n  perdure definitions get reviewer > reviewer.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return connection.Read(cmd.Context(), a, func(conn *connection.Conn) error {
				d, err := lookup.FindDefinition(cmd.Context(), conn.Client, args[0])
				if err != nil {
					return err
				}
				return printDefinition(a, d, "")
			})
		},
	}
	a.JSONFlag(cmd)
	return cmd
}

func newDefinitionsDeleteCommand(a *setup.App) *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a definition; runs keep their copy", Args: cobra.ExactArgs(1),
		Example: "  perdure definitions delete reviewer",
		RunE: func(cmd *cobra.Command, args []string) error {
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				d, err := lookup.FindDefinition(cmd.Context(), conn.Client, args[0])
				if err != nil {
					return err
				}
				if err := conn.DeleteDefinition(cmd.Context(), d.ID); err != nil {
					return err
				}
				return printDefinition(a, d, "is deleted")
			})
		},
	}
}

func newDefinitionsRunCommand(a *setup.App) *cobra.Command {
	r := &runs.RunCommand{App: a}
	cmd := &cobra.Command{
		Use: "run NAME PROMPT", Short: "Start a run from a definition and follow it",
		Example: "  perdure definitions run reviewer \"Review the last commit\"",
		Long:    "Like perdure run --definition NAME. Flags replace what the definition says.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return setup.NewUsageError("the name of the definition is missing", "perdure definitions list shows them")
			}
			return runs.OnePrompt(cmd, args[1:])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Definition = args[0]
			return r.Run(cmd.Context(), args[1])
		},
	}
	r.Flags(cmd)
	return cmd
}

// readDefinition reads JSON from a file, or from standard input for "-". It refuses unknown
// members, because a typing error would otherwise have no effect.
func readDefinition(a *setup.App, path string, into *perdure.Definition) error {
	in := a.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return setup.NewFileError("the definition cannot be read", err, "perdure definitions get NAME shows how one looks")
		}
		defer func() { _ = f.Close() }() // opened only for reading
		in = f
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return setup.NewFileError("the definition cannot be read", err, "give a file, or - for standard input")
	}
	if err := perdure.DecodeExactly("", raw, into); err != nil {
		return setup.NewUsageError(path+" is no definition: "+terminal.ErrorMessage(err), "perdure definitions get NAME shows how one looks")
	}
	return nil
}
