package questions

import (
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// show prints a question before the terminal asks for its answer. `exact` reports whether the
// details are printed as they are stored, and in full.
func (t Terminal) show(q *perdure.Question, details []byte) (exact bool, err error) {
	if t.Headed == nil || !t.Headed(q) {
		_ = t.Out.Linef("")
		if err := t.Out.Heading(q); err != nil {
			return false, err
		}
	}
	if q.OnWorker() {
		_ = t.Out.Linef("  what is asked is on the worker of the run, which is not connected; it can only be denied")
	}
	if prompt := strings.TrimSpace(terminal.Clean(q.Prompt)); strings.Contains(prompt, "\n") { // a prompt of one line is already in the heading
		_ = t.Out.Indented("  ", prompt)
	}
	exact = true
	if details != nil {
		d := terminal.DetailsOf(q, details, t.Out.Columns())
		exact = d.Exact
		if err := t.Out.Details(d); err != nil {
			return false, err
		}
	}
	listChoices(t.Out, q)
	return exact, nil
}
