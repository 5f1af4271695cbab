package terminal

import (
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal/terminaltest"
)

// TestPrintedFieldsCannotControlTheTerminal checks that no field of an event or of the state of a run
// controls the terminal, in any view.
func TestPrintedFieldsCannotControlTheTerminal(t *testing.T) {
	terminaltest.Check(t, func(out io.Writer, _ bool, text string) map[string]func() error {
		s := Streams{Stdout: NewScreen(out), Stderr: NewScreen(out)}
		return map[string]func() error{
			"event line": func() error { return s.Stdout.PrintJSONLine(terminaltest.Filled[client.Event](text)) },
			"task line":  func() error { return s.Stdout.PrintJSONLine(terminaltest.Filled[perdure.Task](text)) },
			"entry line": func() error { return s.Stdout.PrintJSONLine(terminaltest.Filled[perdure.Entry](text)) },
			"result": func() error {
				quiet := terminaltest.Filled[Result](text)
				quiet.Text = "" // the answer itself is for programs
				return errors.Join(NewQuietView(s, "").Result(quiet), NewTextView(s, "").Result(terminaltest.Filled[Result](text)), NewJSONView(s).Result(terminaltest.Filled[Result](text)))
			},
			"work": func() error {
				v := NewTextView(s, "")
				v.Work(terminaltest.Filled[Work](text))
				return v.p.err
			},
			"past": func() error {
				e := terminaltest.Filled[perdure.Entry](text)
				e.Type, e.Role = perdure.EntryMessage, perdure.RoleUser
				x := terminaltest.Filled[perdure.Execution](text)
				raw, err := json.Marshal(perdure.UserText(text).Content)
				if err != nil {
					return err
				}
				e.Content = raw
				return NewTextView(s, text).Past(&x, Past{Entries: []perdure.Entry{e}, EntriesBefore: 2, Load: func(*perdure.Entry) error { return nil }})
			},
			"lost":     func() error { printConnectionLost(s, errors.New(text), time.Second); return nil },
			"progress": func() error { s.Stderr.Progress().End("%s %s", text, errors.New(text)); return nil },
		}
	})
}
