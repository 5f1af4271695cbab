package chat

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/cmd/perdure/internal/lookup"
	"github.com/perdure/perdure/cmd/perdure/internal/terminal"
)

// view shows a run in a chat. Its methods may be called concurrently: one goroutine shows the
// events of the run, another one the results of the user's commands. A message of the user is shown
// when its event arrives from the log, not when the user sends it.
type view struct {
	s    *session
	mu   sync.Mutex
	text *terminal.TextView
}

func newView(s *session) *view {
	v := &view{s: s, text: terminal.NewTextView(s.Streams, s.ServerFlags)}
	v.text.ShowUserMessages, v.text.FoldUserMessages, v.text.AsksInPlace = true, true, true
	v.text.StoppedHere = s.stoppedHere
	return v
}

// locked calls f while no other goroutine writes.
func (v *view) locked(f func(*terminal.TextView)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	f(v.text)
}

func (v *view) Started(x *perdure.Execution) {
	v.locked(func(t *terminal.TextView) { t.Started(x) })
}

func (v *view) AddEntries(entries []perdure.Entry) {
	v.locked(func(t *terminal.TextView) { t.AddEntries(entries) })
}

func (v *view) Event(e client.Event) (err error) {
	v.s.saw(e)
	v.locked(func(t *terminal.TextView) { err = t.Event(e) })
	return err
}

// Headed reports whether the last lines of the chat are the heading of the question q.
func (v *view) Headed(q *perdure.Question) (headed bool) {
	v.locked(func(t *terminal.TextView) { headed = t.Headed(q) })
	return headed
}

func (v *view) UserMessage(string) {}
func (v *view) Prompt()            {}

func (v *view) ConnectionLost(cause error, pause time.Duration) {
	v.locked(func(t *terminal.TextView) { t.ConnectionLost(cause, pause) })
}

func (v *view) Result(r terminal.Result) (err error) {
	v.locked(func(t *terminal.TextView) { err = t.Result(r) })
	return err
}

// note shows a remark of the chat itself.
func (v *view) note(style terminal.Style, text string) {
	v.aside(func(t *terminal.TextView) { t.Remark(style, text) })
}

// aside calls the function `show`, whose output appears above the prompt of the question that the
// terminal asks.
func (v *view) aside(show func(*terminal.TextView)) {
	v.locked(func(t *terminal.TextView) {
		asked := v.s.askedNow()
		if asked != nil {
			_ = v.s.Stdout.EraseOpen()
		}
		show(t)
		if asked != nil {
			asked.show(v.s.Stdout)
		}
	})
}

// saw updates the state of the chat after an event of the run.
func (s *session) saw(e client.Event) {
	s.mu.Lock()
	busy, failed, waiting, chosen := s.busy, s.failed, len(s.waiting), false
	switch {
	case e.Type.Ends():
		s.busy = false
	case e.Type == perdure.EventWaiting:
		var d struct {
			Reason string       `json:"reason"`
			Wait   perdure.Wait `json:"wait"`
		}
		if e.Decode(&d) == nil {
			s.busy = d.Reason != lookup.WaitsForSignal
			s.failed = s.react && slices.Contains(d.Wait.Signals(), perdure.RetrySignal)
		}
	case e.Type == perdure.EventSignal:
		if c := chosenBy(e); c != nil {
			s.choose(c)
			chosen = true
		}
	case e.Type == perdure.EventStarted, e.Type == perdure.EventResumed, e.Type == perdure.EventTaskScheduled:
		s.busy = true
	case e.Type == perdure.EventEntry && waiting > 0:
		if _, entry, err := e.Record(); err == nil && entry != nil && entry.Role == perdure.RoleUser && entry.Type == perdure.EntryMessage {
			s.waiting = s.waiting[1:]
		}
	}
	if e.Type == perdure.EventQuestionAsked || e.Type == perdure.EventQuestionAnswered || e.Type == perdure.EventQuestionExpired || e.Type == perdure.EventQuestionWithdrawn {
		s.refreshQuestions()
	}
	changed, queue := chosen || busy != s.busy || failed != s.failed, s.waiting
	s.mu.Unlock()
	if changed {
		s.showStatus()
	}
	if len(queue) != waiting {
		s.ed.SetQueue(queue)
	}
}

// chosenBy returns the model that a user has chosen with a signal; e is the event of the signal. It
// returns nil for signals that choose no model.
func chosenBy(e client.Event) *perdure.ModelChoice {
	var d struct {
		Name  string          `json:"signalName"`
		Value json.RawMessage `json:"signalValue"`
	}
	if e.Decode(&d) != nil || d.Name != perdure.ModelSignal {
		return nil
	}
	c, err := perdure.ParseModelChoice("signalValue", d.Value)
	if err != nil {
		return nil
	}
	return &c
}

// newRunStatus returns the status of a chat that has no run yet.
func newRunStatus(t Target) string {
	text := "a new run: type what is to be done; /help lists the commands"
	if t.Start != nil && len(t.Start.Models) > 0 {
		text = t.Start.Models[0].String() + " · " + text
	}
	return text
}

// showStatus shows the state of the run below the input line.
func (s *session) showStatus() {
	s.mu.Lock()
	text := "your turn · /help lists the commands"
	switch {
	case s.asked != nil:
		text = "the run asks you · Esc stops the turn"
		if s.asked.leavable {
			text = "the run asks you · Esc leaves the question open"
		}
	case s.busy:
		text = "working · Esc stops the turn"
		if n := s.offers.openQuestions(); n == 1 {
			text = "working · a question is open: /approve · Esc stops the turn"
		} else if n > 1 {
			text = fmt.Sprintf("working · %d questions are open: /approve · Esc stops the turn", n)
		}
	case s.failed:
		text = "the model failed · /retry asks it again"
	}
	if name := s.modelName(); name != "" {
		text = name + " · " + text
	}
	s.mu.Unlock()
	s.ed.SetStatus(text)
}
