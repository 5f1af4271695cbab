package serving

import (
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/spf13/cobra"
)

// Values of --check: when to check a store that was not closed cleanly.
const (
	checkBackground = "background"
	checkBefore     = "before"
)

// checkFlag adds --check to a command that owns a store while it runs.
func checkFlag(cmd *cobra.Command, when *string) {
	cmd.Flags().StringVar(when, "check", checkBackground, "when to check the whole of a store that was not closed in order: background (while serving; damage ends the process) or before (serve once it has passed)")
}

func checkCheckFlag(when string) error {
	if when != checkBackground && when != checkBefore {
		return setup.NewUsageError("--check "+when+" is no time for the check", "give background or before")
	}
	return nil
}
