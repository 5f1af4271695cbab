package chaos

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/llm/scripted"
)

// played returns the data of a run without faults. A message arrives in its second turn, so a tool
// is skipped. Another tool is interrupted, and one model call is made twice.
func played() Run {
	p := &runBuilder{Run: Run{
		ID: "x", Script: Script{Run: 7, Turns: 4, Late: 1, Pause: "0"}, OneShot: true, Status: perdure.StatusCompleted, Effects: map[string]int{},
	}}
	p.event(Event{Type: perdure.EventCreated})
	p.user(p.Script.Prompt())
	for turn := 1; turn <= p.Script.Turns+1; turn++ {
		p.turn(turn)
	}
	p.event(Event{Type: perdure.EventCompleted})
	return p.Run
}

type runBuilder struct{ Run }

func (p *runBuilder) event(e Event) {
	e.Seq = int64(len(p.Log)) + 1
	p.Log = append(p.Log, e)
}

func (p *runBuilder) user(text string) {
	p.Messages = append(p.Messages, perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(text)}}})
}

func (p *runBuilder) turn(n int) {
	name, previous := fmt.Sprintf("turn_%d", n-1), ""
	if n > 1 {
		previous = fmt.Sprint("prompt ", n-1)
	}
	call := scripted.Call{Turn: n, SHA256: fmt.Sprint("prompt ", n), Previous: previous}
	p.event(Event{Type: perdure.EventTaskStarted, Task: name, Kind: modelTask, Turn: name})
	p.Calls = append(p.Calls, call)
	if n == 3 { // the worker was killed during this turn
		p.event(Event{Type: perdure.EventTaskRetrying, Task: name})
		p.event(Event{Type: perdure.EventTaskStarted, Task: name})
		p.Calls = append(p.Calls, call)
	}
	p.event(Event{Type: perdure.EventTaskCompleted, Task: name})
	said := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text(p.Script.Says(n))}}}
	calls := p.Script.Calls(n)
	for i, c := range calls {
		said.Parts = append(said.Parts, perdure.Part{Type: perdure.PartToolCall, ID: fmt.Sprintf("%d_%d", n, i), Name: c.Tool})
	}
	p.Messages = append(p.Messages, said)
	for i, c := range calls {
		p.tool(fmt.Sprintf("%d_%d", n, i), c, n == 2 && i == 1, n == 4)
	}
	if n == 2 {
		p.event(Event{Type: perdure.EventSignal, Signal: "s"})
		p.user("hello")
		p.Sent = append(p.Sent, Sent{ID: "s", Text: "hello", Accepted: true})
	}
}

func (p *runBuilder) tool(id string, c Call, skip, interrupt bool) {
	text := c.Result
	switch {
	case skip:
		text = "skipped: the user sent a message"
	case interrupt:
		text = "interrupted: its worker was lost"
		p.Effects["begin-"+c.Effect]++
		p.event(Event{Type: perdure.EventTaskStarted, Task: id, Kind: c.Tool, Call: id})
		p.event(Event{Type: perdure.EventTaskInterrupted, Task: id, Call: id})
	default:
		if c.Effect != "" {
			p.Effects["begin-"+c.Effect]++
			p.Effects["end-"+c.Effect]++
		}
		p.event(Event{Type: perdure.EventTaskStarted, Task: id, Kind: c.Tool, Call: id})
		p.event(Event{Type: perdure.EventTaskCompleted, Task: id, Call: id})
	}
	p.Messages = append(p.Messages, perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{{
		Type: perdure.PartToolResult, ToolCallID: id, ToolName: c.Tool, IsError: skip || interrupt, Parts: []perdure.Part{perdure.Text(text)},
	}}}})
}

func TestCorrectRunHasNoFindings(t *testing.T) {
	if wrong := Check(played()); len(wrong) > 0 {
		t.Error(strings.Join(wrong, "\n"))
	}
}

// TestEveryFaultIsFound checks that Check finds each kind of fault. Each case changes one thing in the data
// of a run without faults.
func TestEveryFaultIsFound(t *testing.T) {
	first := func(r *Run, kind perdure.EventType) *Event {
		return &r.Log[slices.IndexFunc(r.Log, func(e Event) bool { return e.Type == kind })]
	}
	drop := func(all []perdure.Message, i int) []perdure.Message { return slices.Delete(all, i, i+1) }
	twice := func(all []perdure.Message, i int) []perdure.Message { return slices.Insert(all, i, all[i]) }
	for name, change := range map[string]struct {
		want string
		do   func(r *Run)
	}{
		"an effect is doubled":            {"took place 2 times", func(r *Run) { r.Effects["end-7-1-0"]++ }},
		"an effect is lost":               {"took place 0 times", func(r *Run) { delete(r.Effects, "end-7-1-0") }},
		"an interrupted effect doubled":   {"took place 2 times, and the call is interrupted", func(r *Run) { r.Effects["begin-7-4-0"]++ }},
		"a skipped tool ran":              {"the call is skipped", func(r *Run) { r.Effects["begin-7-2-1"]++ }},
		"an effect from nowhere":          {"nothing in the conversation asks for it", func(r *Run) { r.Effects["begin-7-9-0"]++ }},
		"an answer is lost":               {"turn 1 is tool_result", func(r *Run) { r.Messages = drop(r.Messages, 1) }},
		"an answer is doubled":            {"where that of", func(r *Run) { r.Messages = twice(r.Messages, 1) }},
		"a result is lost":                {"where that of", func(r *Run) { r.Messages = drop(r.Messages, 2) }},
		"a result is doubled":             {"where that of", func(r *Run) { r.Messages = twice(r.Messages, 2) }},
		"a result is another":             {"gave", func(r *Run) { r.Messages[2].Parts[0].Parts = []perdure.Part{perdure.Text("something")} }},
		"a result without a task":         {"no task that was completed", func(r *Run) { r.Messages[2].Parts[0].ToolCallID = "other" }},
		"the end is lost":                 {"ends after", func(r *Run) { r.Messages = r.Messages[:len(r.Messages)-1] }},
		"the prompt is lost":              {"does not begin with its prompt", func(r *Run) { r.Messages = r.Messages[1:] }},
		"a skip without a message":        {"nobody said anything", func(r *Run) { r.Messages = drop(r.Messages, 7) }},
		"an interrupt that was none":      {"its task is not", func(r *Run) { first(r, perdure.EventTaskInterrupted).Type = perdure.EventTaskCompleted }},
		"a message is lost":               {"in the conversation: false", func(r *Run) { r.Messages[7].Parts[0].Text = "" }},
		"a message is doubled":            {"is said twice", func(r *Run) { r.Messages = twice(r.Messages, 7) }},
		"a message is received twice":     {"received 2 times", func(r *Run) { first(r, perdure.EventCreated).Type, r.Log[0].Signal = perdure.EventSignal, "s" }},
		"a refused message is taken":      {"was accepted: false", func(r *Run) { r.Sent[0].Accepted = false }},
		"a message from nowhere":          {"nobody has said", func(r *Run) { r.Sent = nil }},
		"a seq is lost":                   {"has the seq", func(r *Run) { r.Log = slices.Delete(r.Log, 3, 4) }},
		"a seq is doubled":                {"has the seq", func(r *Run) { r.Log[4].Seq = 4 }},
		"the log has no end":              {"its log has no end", func(r *Run) { r.Log = r.Log[:len(r.Log)-1] }},
		"it does not end":                 {"it is WAITING", func(r *Run) { r.Status = perdure.StatusWaiting }},
		"a task ends twice":               {"of a task that had ended", func(r *Run) { first(r, perdure.EventTaskRetrying).Task = "turn_0" }},
		"a task fails":                    {"task.failed", func(r *Run) { first(r, perdure.EventTaskCompleted).Type = perdure.EventTaskFailed }},
		"a task does not end":             {"has not ended", func(r *Run) { first(r, perdure.EventTaskCompleted).Type = perdure.EventTaskRetrying }},
		"two tasks for one call":          {"two tasks for call", func(r *Run) { r.second("1_0", "1_1") }},
		"a stored answer is asked again":  {"called 2 times in 1 attempts", func(r *Run) { r.Calls = append(r.Calls, r.Calls[0]) }},
		"an answer that was not asked":    {"called 0 times", func(r *Run) { r.Calls = r.Calls[1:] }},
		"a call that nobody has heard of": {"not in the conversation", func(r *Run) { r.Calls = append(r.Calls, scripted.Call{Turn: 9}) }},
		"a repeat asks something else":    {"asks something else", func(r *Run) { r.Calls[3].SHA256 = "other" }},
		"a prompt is built anew":          {"does not begin with the one before", func(r *Run) { r.Calls[1].Previous = "other" }},
	} {
		t.Run(name, func(t *testing.T) {
			r := played()
			change.do(&r)
			if wrong := Check(r); !slices.ContainsFunc(wrong, func(w string) bool { return strings.Contains(w, change.want) }) {
				t.Errorf("it is not found that %q: %q", change.want, wrong)
			}
		})
	}
}

// second changes the log so that one tool call has two tasks: its own, and that of another call. The
// parameters are the ids of the two calls.
func (r *Run) second(call, other string) {
	for i := range r.Log {
		if r.Log[i].Call == other {
			r.Log[i].Call = call
		}
	}
}

// TestOrderOfSenders checks that Check requires messages of one sender to be in their order, and allows
// messages of different senders in any order.
func TestOrderOfSenders(t *testing.T) {
	r := played()
	r.Messages = slices.Insert(r.Messages, 8, perdure.Message{Role: perdure.RoleUser, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("again")}}})
	r.Log = slices.Insert(r.Log, len(r.Log)-1, Event{Type: perdure.EventSignal, Signal: "t"})
	for i := range r.Log {
		r.Log[i].Seq = int64(i) + 1
	}
	again := Sent{ID: "t", Text: "again", Accepted: true}
	r.Sent = []Sent{{ID: "t", Text: "again", Accepted: true, Sender: 1}, r.Sent[0]}
	if wrong := Check(r); len(wrong) > 0 {
		t.Errorf("two senders: %q", wrong)
	}
	r.Sent[0] = again
	if wrong := Check(r); len(wrong) != 1 || !strings.Contains(wrong[0], "before one that was sent earlier") {
		t.Errorf("one sender: %q", wrong)
	}
}

// TestTakeovers checks how Takeovers measures time. The time begins with the kill of a worker. It
// ends with the run's next event that shows the work of a worker.
func TestTakeovers(t *testing.T) {
	at := func(seconds int) perdure.Time { return perdure.At(time.Unix(int64(seconds), 0)) }
	runs := []Run{
		{ID: "a", Log: []Event{
			{Type: perdure.EventTaskStarted, At: at(1)}, {Type: perdure.EventTaskRetrying, At: at(12)}, {Type: perdure.EventTaskStarted, At: at(14)},
		}},
		{ID: "b", Log: []Event{{Type: perdure.EventStarted, At: at(9)}, {Type: perdure.EventResumed, At: at(13)}}},
		{ID: "c", Log: []Event{{Type: perdure.EventStarted, At: at(9)}, {Type: perdure.EventCancelled, At: at(13)}}},
	}
	r := Report{Takeovers: Takeovers([]Kill{{Name: "w", At: time.Unix(10, 0), Runs: []string{"a", "b", "c"}}}, runs)}
	r.Measure(nil)
	if len(r.Takeovers) != 2 || r.Max != 4*time.Second || r.Takeovers[1].Took != 3*time.Second {
		t.Errorf("%+v", r.Takeovers)
	}
}
