package runs

import (
	"io"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/connection"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal/terminaltest"
)

// TestPrintedFieldsCannotControlTheTerminal checks that no field that a command for runs prints
// controls the terminal, in text or in JSON.
func TestPrintedFieldsCannotControlTheTerminal(t *testing.T) {
	terminaltest.Check(t, func(out io.Writer, asJSON bool, text string) map[string]func() error {
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(out), Stderr: terminal.NewScreen(out)}, JSON: asJSON}
		x := func() *perdure.Execution { v := terminaltest.Filled[perdure.Execution](text); return &v }
		return map[string]func() error{
			"run":    func() error { return printExecution(a, x(), func() { _ = a.Stdout.Linef("%s", text) }) },
			"pruned": func() error { return printPruned(a, terminaltest.Filled[client.PruneReport](text)) },
			"signal": func() error {
				return printSignal(t.Context(), a, &connection.Conn{}, x(), terminaltest.Filled[client.SignalReply](text))
			},
			"bulk action": func() error {
				action := terminaltest.Filled[perdure.BulkAction](text)
				return printBulk(a, &action, bulkVerb{})
			},
		}
	}, "run")
}
