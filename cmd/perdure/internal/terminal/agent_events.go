package terminal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

// agentEvents has the data from the events of a run that TextView needs to show the work of an
// agent of any kind.
type agentEvents struct {
	kind  string
	local bool
	names waitNames
	begun map[uuid.UUID]time.Time // times at which tasks began
	said  map[string]bool         // the ids of messages of which text was shown
}

func newAgentEvents() agentEvents {
	return agentEvents{names: namesOf(nil, nil), begun: map[uuid.UUID]time.Time{}, said: map[string]bool{}}
}

// other reports whether the run is known to be of an agent other than the react agent.
func (a *agentEvents) other() bool { return a.kind != "" && a.kind != perdure.ReactKind }

// appended shows an entry that an agent has appended, unless its text was shown while it was streamed.
func (v *TextView) appended(e perdure.Entry) error {
	if e.Type != perdure.EntryMessage || v.agent.said[e.MessageID] {
		return v.p.err
	}
	return v.Entry(e)
}

// workSection is the section of a page that shows tasks, steps, signals and waits when they happen.
const workSection = "work"

func (v *TextView) work(s Style, text string) {
	v.p.section(workSection)
	v.p.hanging(s, text)
}

// Step shows the record of a step. The log has no events of steps.
func (v *TextView) Step(t *perdure.Task) { v.work(taskStyle(t), taskLine(t)) }

// signal shows a signal that the run has received. For a react agent it shows signals only if the
// option ShowSignals is set, and never a user message, because the view shows user messages as
// entries. Without the option, it shows only one signal of a react agent, the one that stops a
// turn: the method stopped prints who has sent it.
func (v *TextView) signal(e client.Event) error {
	var d struct {
		Name  string          `json:"signalName"`
		Value json.RawMessage `json:"signalValue"`
	}
	if err := e.Decode(&d); err != nil {
		return err
	}
	if !v.agent.other() && !v.ShowSignals && d.Name == perdure.InterruptSignal {
		return v.stopped(d.Value)
	}
	if !v.agent.other() && (!v.ShowSignals || d.Name == perdure.UserMessage) {
		return v.p.err
	}
	text := "signal " + Inline(d.Name)
	switch {
	case v.agent.local:
		text += " · " + ContentOnWorkerText
	case d.Value == nil:
		text += " · (too large to be shown here; perdure show has it)"
	default:
		if value := signalValue(d.Value, 0, false); value != "" {
			text += " · " + value
		}
	}
	v.work(StyleNone, text)
	return v.p.err
}

// stopped shows who has stopped the turn of a react agent.
func (v *TextView) stopped(value json.RawMessage) error {
	text := "somebody else has stopped the turn"
	if v.StoppedHere != nil && v.StoppedHere() {
		text = "you have stopped the turn"
	}
	var i perdure.Interrupt
	if json.Unmarshal(value, &i) == nil && i.Reason != "" {
		text += ": " + Clean(i.Reason)
	}
	v.notice(StyleWarn, text)
	return v.p.err
}

// waiting shows what an agent waits for. It shows nothing if the agent waits only for tasks and
// questions, because those have events of their own.
func (v *TextView) waiting(e client.Event) error {
	var d struct {
		Wait perdure.Wait `json:"wait"`
	}
	if err := e.Decode(&d); err != nil {
		return err
	}
	shown := len(d.Wait.Signals()) > 0 || d.Wait.HasTimer() || d.Wait.Reason() == perdure.WaitKindUnknown.String()
	if !v.agent.other() || !shown {
		return v.p.err
	}
	v.work(StyleDim, "waits for "+v.agent.names.wait(d.Wait))
	return v.p.err
}

// agentTask shows the beginning and the end of a task.
func (v *TextView) agentTask(r *perdure.Record, kind, reason string) {
	id := taskOf(r)
	v.agent.names.tasks[id] = kind
	facts := []string{"task " + Inline(kind)}
	style := StyleDim
	switch r.Type {
	case perdure.EventTaskStarted:
		v.agent.begun[id] = r.CreatedAt.Time
		facts = append(facts, "started")
	case perdure.EventTaskCompleted:
		style = StyleNone
		facts = append(facts, "completed")
	case perdure.EventTaskFailed:
		style = StyleError
		facts = append(facts, "failed")
	case perdure.EventTaskInterrupted:
		style = StyleError
		facts = append(facts, "interrupted")
	case perdure.EventTaskCancelled:
		facts = append(facts, "cancelled")
	default:
		return
	}
	if r.Attempt > 1 {
		facts = append(facts, fmt.Sprintf("attempt %d", r.Attempt))
	}
	if begun, ok := v.agent.begun[id]; ok && r.Type != perdure.EventTaskStarted {
		facts = append(facts, Duration(r.CreatedAt.Sub(begun)))
		delete(v.agent.begun, id)
	}
	if reason != "" {
		facts = append(facts, Inline(Clean(withoutCode(reason))))
	}
	v.work(style, strings.Join(facts, " · "))
}
