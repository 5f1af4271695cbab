package lookup

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

// TestPrintedFieldsCannotControlTheTerminal checks that no field of a run that is shown controls the
// terminal, in text or in JSON.
func TestPrintedFieldsCannotControlTheTerminal(t *testing.T) {
	terminaltest.Check(t, func(out io.Writer, asJSON bool, text string) map[string]func() error {
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(out), Stderr: terminal.NewScreen(out)}, JSON: asJSON}
		x := func() *perdure.Execution { v := terminaltest.Filled[perdure.Execution](text); return &v }
		return map[string]func() error{
			"runs":    func() error { return printRuns(a, terminaltest.Filled[client.Page[*perdure.Execution]](text), holds{}) },
			"context": func() error { c := terminaltest.Filled[client.Context](text); return printContext(a, &c) },
			"call":    func() error { m := terminaltest.Filled[client.ModelCall](text); return printCall(a, &m) },
			"away":    func() error { printAway(a, x()); return nil },
			"pending": func() error { PrintPending(t.Context(), a, nil, x(), true, true); return nil },
			"idle":    func() error { PrintIdle(t.Context(), a, &connection.Conn{}, x()); return nil },
		}
	}, "away", "idle", "pending")
}
