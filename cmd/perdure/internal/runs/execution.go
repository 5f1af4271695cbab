package runs

import (
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
)

// printExecution prints one execution as JSON, or calls plain.
func printExecution(a *setup.App, x *perdure.Execution, plain func()) error {
	if a.JSON {
		return a.Stdout.PrintJSON(x)
	}
	plain()
	return nil
}
