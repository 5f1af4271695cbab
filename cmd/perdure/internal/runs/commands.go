// Package runs has the commands that start, follow, list and change runs.
package runs

import (
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// Commands returns the commands that start, show and change runs.
func Commands(a *setup.App) []*cobra.Command {
	return []*cobra.Command{
		newRunCommand(a), newStartCommand(a), newChatCommand(a), newResumeCommand(a), newRunsCommand(a), newShowCommand(a), newTailCommand(a), newSignalCommand(a),
		newCompactCommand(a), newContextCommand(a), newCancelCommand(a),
	}
}
