package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/spf13/cobra"
)

func (a *app) definitionsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "definitions", Short: "Keep agents: prompt, models, tools and limits", GroupID: "keep", Aliases: []string{"defs"},
		Long: `A definition is a stored agent. A run copies it when it starts, so that later
changes do not touch it. A definition is named by its id or its slug.`,
		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		a.definitionsListCommand(), a.definitionsGetCommand(), a.definitionsCreateCommand(), a.definitionsUpdateCommand(),
		a.definitionsDeleteCommand(), a.definitionsRunCommand(),
	)
	return cmd
}

// findDefinition returns the definition with the id or slug.
func findDefinition(ctx context.Context, c *client.Client, name string) (*perdure.Definition, error) {
	if id, err := uuid.Parse(name); err == nil && len(name) == 36 {
		return c.Definition(ctx, id)
	}
	for d, err := range c.Definitions(ctx) {
		if err != nil {
			return nil, err
		}
		if d.Slug == name {
			return d, nil
		}
	}
	return nil, perdure.Errorf(perdure.InvalidArgument, "there is no definition %s; perdure definitions list shows them", name)
}

func (a *app) definitionsListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Short: "List the definitions", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.read(cmd.Context(), func(l *link) error {
				all := []*perdure.Definition{}
				for d, err := range l.Definitions(cmd.Context()) {
					if err != nil {
						return err
					}
					all = append(all, d)
				}
				return a.printDefinitions(all)
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) printDefinitions(all []*perdure.Definition) error {
	if a.json {
		return a.printJSON(client.Page[*perdure.Definition]{Items: all})
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(a.stdout, "no definitions")
		return err
	}
	t := table{columns: []column{{head: "SLUG"}, {head: "NAME", spare: 3}, {head: "MODELS", spare: 1}, {head: "ID", spare: 2}, {head: "TOOLS", cut: true}}}
	for _, d := range all {
		t.add(d.Slug, d.Name, modelNames(d.Models), d.ID.String(), strings.Join(d.Tools, ","))
	}
	return t.write(newPage(a.stdout))
}

func modelNames(models []perdure.ModelConfig) string {
	var names []string
	for _, m := range models {
		names = append(names, m.String())
	}
	return strings.Join(names, ",")
}

// printDefinition prints a definition as the JSON that create and update accept.
func (a *app) printDefinition(d *perdure.Definition, plain string) error {
	if a.json || plain == "" {
		return a.printJSON(d)
	}
	err := a.stdout.say("definition %s (%s) %s", d.Slug, d.ID, plain)
	return err
}

func (a *app) definitionsGetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "get NAME", Short: "Show a definition as JSON", Args: cobra.ExactArgs(1), Aliases: []string{"show"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(), func(l *link) error {
				d, err := findDefinition(cmd.Context(), l.Client, args[0])
				if err != nil {
					return err
				}
				return a.printDefinition(d, "")
			})
		},
	}
	a.jsonFlag(cmd)
	return cmd
}

func (a *app) definitionsDeleteCommand() *cobra.Command {
	return &cobra.Command{
		Use: "delete NAME", Short: "Delete a definition; runs keep their copy", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), func(l *link) error {
				d, err := findDefinition(cmd.Context(), l.Client, args[0])
				if err != nil {
					return err
				}
				if err := l.DeleteDefinition(cmd.Context(), d.ID); err != nil {
					return err
				}
				return a.printDefinition(d, "is deleted")
			})
		},
	}
}

func (a *app) definitionsRunCommand() *cobra.Command {
	r := &runner{app: a}
	cmd := &cobra.Command{
		Use: "run NAME PROMPT", Short: "Start a run from a definition and follow it",
		Long: "Like perdure run --definition NAME. Flags replace what the definition says.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{"the name of the definition is missing", "perdure definitions list shows them"}
			}
			return onePrompt(cmd, args[1:])
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.definition = args[0]
			return r.run(cmd.Context(), args[1])
		},
	}
	r.flags(cmd)
	return cmd
}

// readDefinition reads JSON from a file, or from standard input for "-". It refuses unknown
// members, because a typing error would otherwise have no effect.
func (a *app) readDefinition(path string, into *perdure.Definition) error {
	var in io.Reader = a.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return usageError{"the file " + path + " cannot be read: " + reasonOf(err), ""}
		}
		defer func() { _ = f.Close() }() // opened only for reading
		in = f
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return usageError{"the definition cannot be read: " + err.Error(), ""}
	}
	if err := perdure.DecodeExactly("", raw, into); err != nil {
		return usageError{path + " is no definition: " + plainError(err), "perdure definitions get NAME shows how one looks"}
	}
	return nil
}

func reasonOf(err error) string {
	if os.IsNotExist(err) {
		return "it does not exist"
	}
	return err.Error()
}
