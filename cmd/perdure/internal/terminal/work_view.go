package terminal

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/perdure/perdure"
)

// MaxShownTasks is the maximum number of tasks that Work shows.
const MaxShownTasks = 100

// Work shows the input of an agent and its newest tasks. more is the number of earlier tasks.
func (v *TextView) Work(input json.RawMessage, tasks []*perdure.Task, more int) {
	if len(input) > 0 {
		v.p.section("input")
		v.p.line(StyleNone, "input: "+outputText(input))
	}
	if len(tasks) == 0 {
		return
	}
	v.p.section("tasks")
	if more > 0 {
		v.p.line(StyleDim, "… "+count(more, "earlier task")+"; --json shows all")
	}
	for _, t := range tasks {
		v.p.line(taskStyle(t), taskLine(t))
	}
}

func taskLine(t *perdure.Task) string {
	facts := []string{"task " + Inline(t.Kind), strings.ToLower(Inline(string(t.Status)))}
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
