package terminal

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
)

// MaxShownTasks is the maximum number of tasks that Work shows.
const MaxShownTasks = 100

// Work shows the input of an agent, its newest tasks and steps, and what it waits for. more is the
// number of earlier tasks; wait is nil if it does not wait.
func (v *TextView) Work(input json.RawMessage, tasks []*perdure.Task, more int, wait *perdure.Wait) {
	if len(input) > 0 {
		v.p.section("input")
		v.p.line(StyleNone, "input: "+outputText(input))
	}
	if len(tasks) > 0 {
		v.p.section("tasks")
	}
	if more > 0 {
		v.p.line(StyleDim, "… "+count(more, "earlier task")+"; --json shows all")
	}
	for _, t := range tasks {
		v.p.line(taskStyle(t), taskLine(t))
	}
	if wait != nil {
		v.p.section("wait")
		v.p.line(StyleNone, "waits for "+waitText(*wait, tasks))
	}
}

// waitText returns a wait in words. tasks are those whose kinds are known.
func waitText(w perdure.Wait, tasks []*perdure.Task) string {
	switch w.Kind() {
	case perdure.WaitKindAny:
		return waitTexts(w.Any, tasks, " or ")
	case perdure.WaitKindAll:
		return waitTexts(w.All, tasks, " and ")
	case perdure.WaitKindSignal:
		return "the signal " + Inline(w.Signal)
	case perdure.WaitKindTask:
		for _, t := range tasks {
			if t.ID == *w.Task {
				return "the task " + Inline(t.Kind)
			}
		}
		return "a task"
	case perdure.WaitKindQuestion:
		return "an answer"
	case perdure.WaitKindTimer:
		return w.Timer.Local().Format(TimeFormat)
	case perdure.WaitKindAfter:
		return Duration(w.After)
	case perdure.WaitKindUnknown:
	}
	return "something that this program does not know"
}

func waitTexts(all []perdure.Wait, tasks []*perdure.Task, between string) string {
	var texts []string
	for _, w := range all {
		text := waitText(w, tasks)
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
	facts := []string{what + Inline(t.Kind), strings.ToLower(Inline(string(t.Status)))}
	if t.Attempt > 1 {
		facts = append(facts, fmt.Sprintf("attempt %d", t.Attempt))
	}
	if t.StartedAt != nil && t.CompletedAt != nil {
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
