package main

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// jsonView writes each event as a line {cursor, event, data}, and at the end a line {event:
// "result", ...}.
type jsonView struct{ *app }

func (v *jsonView) started(*perdure.Execution)    {}
func (v *jsonView) know([]perdure.Entry)          {}
func (v *jsonView) said(string)                   {}
func (v *jsonView) ask()                          {}
func (v *jsonView) lost(e error, d time.Duration) { tellLost(v.app, e, d) }
func (v *jsonView) event(e client.Event) error    { return v.printLine(e) }

func (v *jsonView) result(r result) error {
	return v.printLine(struct {
		Event string `json:"event"`
		result
	}{"result", r})
}

// quietView writes only the complete answer. For a run that did not complete, it explains the state
// on standard error.
type quietView struct{ *app }

func (v *quietView) started(*perdure.Execution)    {}
func (v *quietView) know([]perdure.Entry)          {}
func (v *quietView) said(string)                   {}
func (v *quietView) ask()                          {}
func (v *quietView) lost(e error, d time.Duration) { tellLost(v.app, e, d) }
func (v *quietView) event(client.Event) error      { return nil }

func (v *quietView) result(r result) error {
	if r.Text != "" {
		if err := v.stdout.answer(r.Text); err != nil {
			return err
		}
	}
	if r.ExitCode == exitOK {
		return nil
	}
	text := newTextView(v.app)
	text.p = newPage(v.stderr)
	return text.result(r)
}

func tellLost(a *app, cause error, pause time.Duration) {
	_ = a.stderr.say("perdure: the connection is lost (%s); trying again in %s", plainError(cause), seconds(pause))
}

// printLine writes a value as JSON on one line.
func (a *app) printLine(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printJSON writes a value as indented JSON.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
