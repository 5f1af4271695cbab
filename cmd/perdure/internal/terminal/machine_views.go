package terminal

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// jsonView writes each event as a line {cursor, event, data}, and at the end a line {event:
// "result", ...}.
type jsonView struct{ Streams }

// NewJSONView returns a view for programs.
func NewJSONView(s Streams) View { return &jsonView{s} }

func (v *jsonView) Started(*perdure.Execution) {}
func (v *jsonView) AddEntries([]perdure.Entry) {}
func (v *jsonView) UserMessage(string)         {}
func (v *jsonView) Prompt()                    {}

func (v *jsonView) ConnectionLost(e error, d time.Duration) { printConnectionLost(v.Streams, e, d) }

func (v *jsonView) Event(e client.Event) error { return v.Stdout.PrintJSONLine(e) }

func (v *jsonView) Result(r Result) error {
	return v.Stdout.PrintJSONLine(struct {
		Event string `json:"event"`
		Result
	}{"result", r})
}

// quietView writes only the complete answer. For a run that did not complete, it explains the state
// on standard error.
type quietView struct {
	Streams
	serverFlags string
}

// NewQuietView returns a view that writes only the answer.
func NewQuietView(s Streams, serverFlags string) View { return &quietView{s, serverFlags} }

func (v *quietView) Started(*perdure.Execution) {}
func (v *quietView) AddEntries([]perdure.Entry) {}
func (v *quietView) UserMessage(string)         {}
func (v *quietView) Prompt()                    {}

func (v *quietView) ConnectionLost(e error, d time.Duration) { printConnectionLost(v.Streams, e, d) }

func (v *quietView) Event(client.Event) error { return nil }

func (v *quietView) Result(r Result) error {
	if r.Text != "" {
		if err := v.Stdout.WriteAnswer(r.Text); err != nil {
			return err
		}
	}
	if r.ExitCode == 0 {
		return nil
	}
	text := NewTextView(v.Streams, v.serverFlags)
	text.p = newPage(v.Stderr)
	return text.Result(r)
}

func printConnectionLost(s Streams, cause error, pause time.Duration) {
	_ = s.Stderr.Linef("perdure: the connection is lost (%s); trying again in %s", ErrorMessage(cause), Duration(pause))
}
