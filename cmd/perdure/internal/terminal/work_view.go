package terminal

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// MaxShownTasks and MaxShownSignals are the maximum numbers of tasks and of signals that Work shows.
const (
	MaxShownTasks   = 100
	MaxShownSignals = 100
)

// Work is what a run does apart from its conversation. For a run of the react agent, Input, Tasks and
// Wait are not set. For other runs, Running is not set.
type Work struct {
	Input json.RawMessage
	// Tasks are the newest tasks and steps. EarlierTasks is the number of tasks and steps before
	// them.
	Tasks        []*perdure.Task
	EarlierTasks int
	Signals      Signals
	// Running are the unfinished tasks of a run of the react agent.
	Running []*perdure.Task
	// Wait is what the agent waits for; nil if it does not wait.
	Wait *perdure.Wait
	// Questions are the questions to which Wait may refer.
	Questions []*perdure.Question
}

// Work shows the input of an agent, its newest tasks, steps and signals, and what it waits for.
func (v *TextView) Work(w Work) {
	v.Input(w.Input, w.Signals.Local)
	if len(w.Tasks) > 0 {
		v.p.section("tasks")
	}
	if w.EarlierTasks > 0 {
		v.p.line(StyleDim, "… "+count(w.EarlierTasks, "earlier task")+"; --json shows all")
	}
	for _, t := range w.Tasks {
		v.p.hanging(taskStyle(t), taskLine(t))
	}
	v.Signals(w.Signals)
	if w.Wait != nil {
		v.p.section("wait")
		v.p.hanging(StyleNone, "waits for "+namesOf(w.Tasks, w.Questions).wait(*w.Wait))
	}
}

// Input shows the input of an agent; nothing if it is null. `local` reports that the run is LOCAL.
func (v *TextView) Input(input json.RawMessage, local bool) {
	if len(input) == 0 || string(input) == "null" {
		return
	}
	v.p.section("input")
	v.p.hanging(StyleNone, "input: "+contentText(input, local))
}

// waitNames are the names of the tasks and questions to which a wait refers by id.
type waitNames struct {
	tasks     map[uuid.UUID]string // kinds of tasks, by id
	questions map[uuid.UUID]string // titles of questions, by id
}

func namesOf(tasks []*perdure.Task, questions []*perdure.Question) waitNames {
	n := waitNames{map[uuid.UUID]string{}, map[uuid.UUID]string{}}
	for _, t := range tasks {
		n.tasks[t.ID] = t.Kind
	}
	for _, q := range questions {
		n.questions[q.ID] = shortTitle(QuestionTitle(q))
	}
	return n
}

// shortTitle returns the beginning of a title.
func shortTitle(title string) string {
	if runes := []rune(title); len(runes) > maxTitle {
		return string(runes[:maxTitle-1]) + "…"
	}
	return title
}

// wait returns a wait in words.
func (n waitNames) wait(w perdure.Wait) string {
	text := "something that this program does not know"
	switch w.Kind() {
	case perdure.WaitKindAny:
		return n.waits(w.Any, " or ")
	case perdure.WaitKindAll:
		return n.waits(w.All, " and ")
	case perdure.WaitKindSignal:
		text = "the signal " + Inline(w.Signal)
	case perdure.WaitKindTask:
		text = named("the task ", n.tasks[*w.Task], "a task")
	case perdure.WaitKindQuestion:
		text = named("an answer to ", n.questions[*w.Question], "an answer")
	case perdure.WaitKindTimer:
		text = w.Timer.Local().Format(TimeFormat)
	case perdure.WaitKindAfter:
		text = Duration(w.After)
	case perdure.WaitKindUnknown:
	}
	if w.Met {
		text += " (met)"
	}
	return text
}

func named(what, name, unnamed string) string {
	if name == "" {
		return unnamed
	}
	return what + Inline(name)
}

func (n waitNames) waits(all []perdure.Wait, between string) string {
	var texts []string
	for _, w := range all {
		text := n.wait(w)
		if len(all) > 1 && len(w.Any)+len(w.All) > 1 {
			text = "(" + text + ")"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, between)
}

func taskLine(t *perdure.Task) string {
	what := "task "
	if t.Step {
		what = "step "
	}
	name := Inline(t.Kind)
	if t.Step && t.Instance != "" {
		name += " (" + Inline(shortTitle(t.Instance)) + ")"
	}
	facts := []string{what + name, strings.ToLower(Inline(string(t.Status)))}
	if t.Attempt > 1 {
		facts = append(facts, fmt.Sprintf("attempt %d", t.Attempt))
	}
	if t.StartedAt != nil && t.CompletedAt != nil && !t.Step { // a step is stored when it has ended
		facts = append(facts, Duration(t.CompletedAt.Sub(t.StartedAt.Time)))
	}
	if t.Error != nil {
		facts = append(facts, Inline(Clean(withoutCode(t.Error.Message))))
	}
	return strings.Join(facts, " · ")
}

func taskStyle(t *perdure.Task) Style {
	switch t.Status {
	case perdure.TaskFailed, perdure.TaskInterrupted:
		return StyleError
	case perdure.TaskCompleted:
		return StyleNone
	}
	return StyleDim
}

// Running shows the tool calls and model calls of a react agent that have not ended.
func (v *TextView) Running(tasks []*perdure.Task, now time.Time) {
	for _, t := range tasks {
		v.p.section(toolSection)
		v.p.hanging(StyleTool, "● "+runningLine(t, now))
	}
}

// runningLine names a call, and says since when it runs.
func runningLine(t *perdure.Task, now time.Time) string {
	facts := []string{Inline(t.Kind)}
	if t.Kind == perdure.ModelTaskKind {
		facts[0] = "model call"
		var input struct {
			Model perdure.ModelChoice `json:"model"`
		}
		if json.Unmarshal(t.Input, &input) == nil && input.Model.ModelID != "" {
			facts[0] += " " + Inline(input.Model.Provider+"/"+input.Model.ModelID)
		}
	} else if !ContentOnWorker(t.Input) {
		facts[0] = strings.TrimSpace(facts[0] + " " + summarise(perdure.Part{Arguments: t.Input}))
	}
	if t.StartedAt == nil || t.Status == perdure.TaskPending {
		return strings.Join(append(facts, "waits for a worker"), " · ")
	}
	facts = append(facts, "runs since "+t.StartedAt.Local().Format(TimeFormat+":05"), Duration(max(0, now.Sub(t.StartedAt.Time))))
	return strings.Join(facts, " · ")
}
