// Package runs has the commands that start, continue and change runs.
package runs

import (
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/watcher"
	"github.com/spf13/cobra"
)

// Commands returns the commands for runs, including those of the packages lookup and watcher, which
// only show runs.
func Commands(a *setup.App) []*cobra.Command {
	list := lookup.NewRunsCommand(a)
	list.AddCommand(newPruneCommand(a), newPromoteCommand(a), newBulkCancelCommand(a), newBulkRetryCommand(a))
	return []*cobra.Command{
		newRunCommand(a), newStartCommand(a), newChatCommand(a), newResumeCommand(a), list, lookup.NewShowCommand(a), watcher.NewTailCommand(a), newSignalCommand(a),
		newCompactCommand(a), lookup.NewContextCommand(a), newCancelCommand(a),
	}
}
