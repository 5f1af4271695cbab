package setup

import (
	"strings"

	"github.com/spf13/cobra"
)

// NoCommand refuses arguments of a command that has only subcommands, and lists the subcommands.
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
	return NewUsageError("there is no command "+cmd.CommandPath()+" "+args[0], "the commands are: "+strings.Join(names, ", "))
}

// JSONFlag adds --json to a command that lists or shows data.
func (a *App) JSONFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.JSON, "json", false, "print JSON")
}

// QuietFlag adds --quiet to a command that follows a run.
func (a *App) QuietFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&a.Quiet, "quiet", "q", false, "print the answer alone")
}
