// Package serving has the commands that run servers and workers, prepare their database, check
// whether they are ready, and measure them.
package serving

import (
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// Commands returns the commands that run servers and workers, and those that check and measure
// them.
func Commands(a *setup.App) []*cobra.Command {
	return []*cobra.Command{
		newDevCommand(a), newServerCommand(a), newWorkerCommand(a), newMigrateCommand(a), newReadyCommand(a), newBenchCommand(a),
	}
}
