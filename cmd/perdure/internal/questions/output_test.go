package questions

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/setup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal/terminaltest"
)

// TestPrintedFieldsCannotControlTheTerminal checks that no field of a question that these commands
// print controls the terminal, in text or in JSON.
func TestPrintedFieldsCannotControlTheTerminal(t *testing.T) {
	terminaltest.Check(t, func(out io.Writer, asJSON bool, text string) map[string]func() error {
		a := &setup.App{Streams: terminal.Streams{Stdout: terminal.NewScreen(out), Stderr: terminal.NewScreen(out)}, JSON: asJSON}
		q := terminaltest.Filled[perdure.Question](text)
		return map[string]func() error{
			"list":   func() error { return printList(a, terminaltest.Filled[client.QuestionPage](text), true) },
			"grants": func() error { return printGrants(a, terminaltest.Filled[client.Page[*perdure.ApprovalGrant]](text)) },
			"link":   func() error { l := terminaltest.Filled[client.NewQuestionLink](text); return printLink(a, &l) },
			"change": func() error { return printChange(a, &q) },
			"print":  func() error { return Print(a.Stdout, &q, []byte(text)) },
			"ask": func() error {
				end := func(_ context.Context, p Prompt) (string, bool, error) {
					_, err := fmt.Fprint(a.Stdout, p.Text)
					return "", false, err
				}
				schema, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{text: map[string]any{"type": "string", "description": text}}})
				if err != nil {
					return err
				}
				form := q
				form.Schema, form.Choices = schema, nil
				_, _, err = Terminal{Out: a.Stdout, ReadLine: end}.Ask(t.Context(), &form, nil)
				return err
			},
		}
	}, "print", "ask")
}
