package runs

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
)

// printExecution prints an execution: as JSON with --json, and otherwise by calling the function
// `plain`.
func printExecution(a *setup.App, x *perdure.Execution, plain func()) error {
	if a.JSON {
		return a.Stdout.PrintJSON(x)
	}
	plain()
	return nil
}
