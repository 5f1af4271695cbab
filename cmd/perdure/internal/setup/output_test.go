package setup

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal/terminaltest"
)

// TestPrintedFieldsCannotControlTheTerminal checks that no text in an error or a log line controls the
// terminal.
func TestPrintedFieldsCannotControlTheTerminal(t *testing.T) {
	terminaltest.Check(t, func(out io.Writer, asJSON bool, text string) map[string]func() error {
		a := &App{Streams: terminal.Streams{Stdout: terminal.NewScreen(out), Stderr: terminal.NewScreen(out)}, JSON: asJSON}
		return map[string]func() error{
			"error": func() error {
				_, err := fmt.Fprintln(a.Stderr, a.ErrorText(perdure.FieldErrorf(text, "%s", text), ExitFailed))
				return err
			},
			"log": func() error { a.Logger(0).Info(text, text, text, "error", errors.New(text)); return nil },
			"log as JSON": func() error {
				b := *a
				b.logFormat = "json"
				b.Logger(0).Info(text, text, text, "error", errors.New(text))
				return nil
			},
		}
	})
}
