package setup

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoCommand is the check of arguments for a command that has only subcommands. Its error for an argument
// lists the subcommands.
func NoCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	remedy := inRows("the commands are:", names)
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		remedy = "did you mean " + strings.Join(near, " or ") + "? " + cmd.CommandPath() + " --help lists the commands"
	}
	return NewUsageError("there is no command "+cmd.CommandPath()+" "+args[0], remedy)
}

// inRows returns `begin` and after it the names, separated by commas, in rows that fit a terminal of the
// usual width.
func inRows(begin string, names []string) string {
	const width = 76
	rows, column := begin, len(begin)
	for i, name := range names {
		if i < len(names)-1 {
			name += ","
		}
		if column+1+len(name) > width {
			rows, column = rows+"\n", -1
		} else {
			rows += " "
		}
		rows, column = rows+name, column+1+len(name)
	}
	return rows
}

// FlagError adds advice to an error about flags: for an unknown flag the existing flags with the most
// similar names, for other errors the usage of the command.
func FlagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return NewUsageError(err.Error(), UsageOf(cmd))
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	near := Nearest(unknown.GetSpecifiedName(), names)
	if len(near) == 0 {
		return NewUsageError(err.Error(), UsageOf(cmd))
	}
	return NewUsageError(err.Error(), "did you mean --"+strings.Join(near, " or --")+"? "+cmd.CommandPath()+" --help shows the flags")
}

// Nearest returns the names that are the most similar to a mistyped one.
func Nearest(typed string, names []string) []string {
	all := &cobra.Command{SuggestionsMinimumDistance: 2} // cobra compares names of commands only
	for _, name := range names {
		all.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return all.SuggestionsFor(typed)
}

// JSONFlag adds --json to a command that lists or shows data.
func (a *App) JSONFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.JSON, "json", false, "print JSON")
}

// QuietFlag adds --quiet to a command that follows a run.
func (a *App) QuietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.Quiet, "quiet", "q", false, "print the answer alone")
}
