package main

import (
	"github.com/perdure/perdure"
	"github.com/spf13/cobra"
)

// definer is a command that writes a definition from a file and from flags. Flags override the
// file.
type definer struct {
	*app
	spec                          spec
	file, name, slug, description string
}

func (d *definer) flags(cmd *cobra.Command) {
	d.spec.flags(cmd)
	f := cmd.Flags()
	f.Lookup("model").Usage = "provider/model; may be repeated"
	f.Lookup("tools").Usage = "names of the tools that the model may use, or none (default: all built-in ones)"
	f.Lookup("metadata").Usage = "KEY=VALUE; may be repeated"
	f.StringVar(&d.spec.net, "net", "", "network of bash: open, loopback (each command's own) or none; a start and a worker may be stricter")
	_ = cmd.RegisterFlagCompletionFunc("net", cobra.FixedCompletions([]string{"open", "loopback", "none"}, cobra.ShellCompDirectiveNoFileComp))
	f.StringVarP(&d.file, "file", "f", "", "JSON file with the definition; - is standard input")
	f.StringVar(&d.name, "name", "", "name for people")
	f.StringVar(&d.slug, "slug", "", "name for commands (default: made from the name)")
	f.StringVar(&d.description, "description", "", "what it is for")
	d.jsonFlag(cmd)
}

// fill copies the file and the flags into the definition.
func (d *definer) fill(into *perdure.Definition) error {
	d.spec.typed = true
	if err := d.spec.check(); err != nil {
		return err
	}
	if d.file != "" {
		kept := *into
		if err := d.readDefinition(d.file, into); err != nil {
			return err
		}
		into.ID = kept.ID
		if into.Version == 0 {
			into.Version = kept.Version
		}
	}
	set := func(flag string, field *string, value string) {
		if d.spec.given(flag) {
			*field = value
		}
	}
	set("name", &into.Name, d.name)
	set("slug", &into.Slug, d.slug)
	set("description", &into.Description, d.description)
	set("system", &into.SystemPrompt, d.spec.system)
	models, err := d.spec.modelsGiven()
	if err != nil {
		return err
	}
	if models != nil {
		into.Models = models
	}
	if names := d.spec.toolNames(); names != nil {
		into.Tools = *names
	} else if into.Tools == nil && d.file == "" {
		into.Tools = builtinNames()
	}
	into.Config = into.Config.Merge(d.spec.config())
	if d.spec.given("net") {
		into.Config.Net = d.spec.net // even if it is less strict than before
	}
	if d.spec.given("metadata") {
		members, err := d.spec.metadataJSON()
		if err != nil {
			return err
		}
		into.Metadata = rawOf(members)
	}
	return nil
}

func (a *app) definitionsCreateCommand() *cobra.Command {
	d := &definer{app: a}
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
				return usageError{"the name is missing", "give it with --name, or a file with -f"}
			}
			if len(made.Models) == 0 {
				return usageError{"the model is missing", "give it with --model; " + howToName}
			}
			return a.look(cmd.Context(), func(l *link) error {
				stored, err := l.CreateDefinition(cmd.Context(), made)
				if err != nil {
					return err
				}
				return a.printDefinition(stored, "is stored")
			})
		},
	}
	d.flags(cmd)
	return cmd
}

func (a *app) definitionsUpdateCommand() *cobra.Command {
	d := &definer{app: a}
	cmd := &cobra.Command{
		Use: "update NAME [-f FILE] [flags]", Short: "Change a definition",
		Long: "Changes what the file or the flags say and keeps the rest. A version in the file\nmust be the stored one, so that nobody's change is lost.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.look(cmd.Context(), func(l *link) error {
				known, err := findDefinition(cmd.Context(), l.Client, args[0])
				if err != nil {
					return err
				}
				if err := d.fill(known); err != nil {
					return err
				}
				stored, err := l.PutDefinition(cmd.Context(), *known)
				if err != nil {
					return err
				}
				return a.printDefinition(stored, "is changed")
			})
		},
	}
	d.flags(cmd)
	return cmd
}
