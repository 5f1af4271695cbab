package admin

import (
	"encoding/json"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/builtin"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/runs"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// definitionFlags has the flags of a command that creates or updates a definition. The other flags
// take precedence over the file in the flag --file.
type definitionFlags struct {
	*setup.App
	agent                         runs.AgentFlags
	file, name, slug, description string
}

func (d *definitionFlags) flags(cmd *cobra.Command) {
	d.agent.Flags(cmd)
	f := cmd.Flags()
	f.Lookup("model").Usage = "provider/model; may be repeated"
	f.Lookup("tools").Usage = "names of the tools that the model may use, or none (default: all built-in ones)"
	f.Lookup("metadata").Usage = "KEY=VALUE; may be repeated"
	f.StringVar(&d.agent.Net, "net", "", "network of bash: open, loopback (each command's own) or none; a start and a worker may be stricter")
	_ = cmd.RegisterFlagCompletionFunc("net", cobra.FixedCompletions([]string{"open", "loopback", "none"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVarP(&d.file, "file", "f", "", "JSON file with the definition; - is standard input")
	f.StringVar(&d.name, "name", "", "name for people")
	f.StringVar(&d.slug, "slug", "", "name for commands (default: made from the name)")
	f.StringVar(&d.description, "description", "", "what it is for")
	d.JSONFlag(cmd)
}

// fill sets the fields of the definition: first from the file, and then from the flags.
func (d *definitionFlags) fill(into *perdure.Definition) error {
	d.agent.IgnoreVariables = true
	if err := d.agent.Check(); err != nil {
		return err
	}
	if d.file != "" {
		kept := *into
		if err := readDefinition(d.App, d.file, into); err != nil {
			return err
		}
		into.ID = kept.ID
		if into.Version == 0 {
			into.Version = kept.Version
		}
	}
	set := func(flag string, field *string, value string) {
		if d.agent.Given(flag) {
			*field = value
		}
	}
	set("name", &into.Name, d.name)
	set("slug", &into.Slug, d.slug)
	set("description", &into.Description, d.description)
	set("system", &into.SystemPrompt, d.agent.System)
	models, err := d.agent.ModelsGiven()
	if err != nil {
		return err
	}
	if models != nil {
		into.Models = models
	}
	if names := d.agent.ToolNames(); names != nil {
		into.Tools = *names
	} else if into.Tools == nil && d.file == "" {
		into.Tools = runs.BuiltinNames()
	}
	into.Config = into.Config.Merge(d.agent.Config())
	if policy, err := d.agent.Policy(); err != nil {
		return err
	} else if policy != nil {
		into.Approvals = policy
	}
	if d.agent.Given("net") {
		into.Config.Net = d.agent.Net // replaces the file's value; Merge would keep the stricter one
	}
	if d.agent.Given("metadata") {
		members, err := d.agent.MetadataJSON()
		if err != nil {
			return err
		}
		if into.Metadata, err = json.Marshal(members); err != nil {
			return err
		}
	}
	return nil
}

func newDefinitionsCreateCommand(a *setup.App) *cobra.Command {
	d := &definitionFlags{App: a}
	cmd := &cobra.Command{
		Use: "create [-f FILE] [flags]", Short: "Store a definition",
		Example: `  perdure definitions create --name "Reviewer" --model anthropic/claude-sonnet-5-5 \
    --tools read-file,grep,find --system "You review code. Be brief."
  perdure definitions create -f reviewer.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var made perdure.Definition
			if err := d.fill(&made); err != nil {
				return err
			}
			if made.Name == "" {
				return setup.NewUsageError("the name is missing", "give it with --name, or a file with -f")
			}
			if len(made.Models) == 0 {
				return setup.NewUsageError("the model is missing", "give it with --model; "+builtin.ModelSyntax)
			}
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				stored, err := conn.CreateDefinition(cmd.Context(), made)
				if err != nil {
					return err
				}
				return printDefinition(a, stored, "is stored")
			})
		},
	}
	d.flags(cmd)
	return cmd
}

func newDefinitionsUpdateCommand(a *setup.App) *cobra.Command {
	d := &definitionFlags{App: a}
	cmd := &cobra.Command{
		Use: "update NAME [-f FILE] [flags]", Short: "Change a definition",
		Example: "  perdure definitions update reviewer --max-turns 20\n  perdure definitions update reviewer -f reviewer.json",
		Long:    "Changes what the file or the flags say and keeps the rest. A version in the file\nmust be the stored one, so that nobody's change is lost.",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connection.Request(cmd.Context(), a, func(conn *connection.Conn) error {
				known, err := lookup.FindDefinition(cmd.Context(), conn.Client, args[0])
				if err != nil {
					return err
				}
				if err := d.fill(known); err != nil {
					return err
				}
				stored, err := conn.PutDefinition(cmd.Context(), *known)
				if err != nil {
					return err
				}
				return printDefinition(a, stored, "is changed")
			})
		},
	}
	d.flags(cmd)
	return cmd
}
