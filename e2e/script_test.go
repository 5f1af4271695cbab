package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// longScript returns a conversation of two messages and thirty turns that uses every tool, with
// countable effects. No tool changes what another tool reads, so an interrupted tool does not
// change the results of others.
func longScript() (first, second []turn) {
	for i := range 16 {
		first = append(first, scriptTurn(i))
	}
	first = append(first, turn{Text: "That is half of it; tell me when to do the rest."})
	for i := range 12 {
		second = append(second, scriptTurn(len(first)+i))
	}
	second = append(second, turn{Text: "Everything is done, and the files are in their places."})
	return first, second
}

// scriptTurn returns turn i of longScript. Turns i and i+4 have the same tools. Some tools of a
// turn run in parallel, and others wait for the tools before them.
func scriptTurn(i int) turn {
	t := turn{
		Thinking: fmt.Sprintf("This is turn %d, so step %d is next.", i, i),
		Text:     fmt.Sprintf("In turn %d I go on with the next of the many steps that lie before me.", i),
		Usage:    tokens(100+i, 10+i),
	}
	bash := func(label string) toolCall {
		return call("bash", i, map[string]any{"command": fmt.Sprintf(
			"echo begin-%[1]s >> effects.txt; echo working; sleep 0.15; echo end-%[1]s >> effects.txt; echo done %[1]s", label)})
	}
	read := call("read-file", i, map[string]any{"path": fmt.Sprintf("docs/%d.txt", i)})
	grep := call("grep", i, map[string]any{"pattern": fmt.Sprintf("needle-%d\\b", i), "path": "docs"})
	write := call("write-file", i, map[string]any{"path": fmt.Sprintf("out/%d.txt", i), "content": fmt.Sprintf("written in turn %d\n", i)})
	edit := call("edit-file", i, map[string]any{"path": fmt.Sprintf("edits/%d.txt", i), "oldString": "before", "newString": "after"})
	label := fmt.Sprintf("turn-%d-", i)
	switch i % 4 {
	case 0:
		t.Calls = []toolCall{bash(label + "a"), read}
	case 1:
		t.Calls = []toolCall{bash(label + "a"), bash(label + "b"), grep}
	case 2:
		t.Calls = []toolCall{read, write, bash(label + "a")}
	case 3:
		t.Calls = []toolCall{edit, bash(label + "a"), read, write}
	}
	for j := range t.Calls {
		t.Calls[j].ID += fmt.Sprintf("_%d", j)
	}
	return t
}

func call(name string, i int, arguments any) toolCall {
	return toolCall{ID: fmt.Sprintf("toolu_%d", i), Name: name, Arguments: arguments}
}

func countCalls(turns []turn) int {
	n := 0
	for _, t := range turns {
		n += len(t.Calls)
	}
	return n
}

// furnish writes the files of the workspace that the tools of longScript read and edit.
func (s *deployment) furnish(turns int) {
	for i := range turns {
		s.write(fmt.Sprintf("docs/%d.txt", i), fmt.Sprintf("one\nneedle-%d\nthree\n", i))
		s.write(fmt.Sprintf("edits/%d.txt", i), "before\n")
	}
}

// taskTrace is a task as the log describes it.
type taskTrace struct {
	kind, call, turn string
	attempts         int
	end              perdure.EventType
}

// trace returns the tasks of the log. Each must have ended exactly once.
func trace(t *testing.T, events []event) map[uuid.UUID]*taskTrace {
	t.Helper()
	tasks := map[uuid.UUID]*taskTrace{}
	for _, e := range events {
		if !e.kind.IsTask() || e.head.TaskID == nil {
			continue
		}
		var kind struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal([]byte(e.data), &kind); err != nil {
			t.Fatal(err)
		}
		task := tasks[*e.head.TaskID]
		if task == nil {
			task = &taskTrace{kind: kind.Kind, call: e.head.ToolCallID, turn: e.head.TurnID}
			tasks[*e.head.TaskID] = task
		}
		if task.end != "" {
			t.Errorf("%s after the task has ended: %s", e.kind, e.data)
		}
		switch e.kind {
		case perdure.EventTaskStarted:
			task.attempts++
		case perdure.EventTaskCompleted, perdure.EventTaskInterrupted:
			task.end = e.kind
		case perdure.EventTaskFailed, perdure.EventTaskCancelled:
			t.Errorf("a task has not been done: %s %s", e.kind, e.data)
			task.end = e.kind
		}
	}
	for id, task := range tasks {
		if task.end == "" {
			t.Errorf("task %s (%s) has not ended", id, task.kind)
		}
	}
	return tasks
}

// checkEffects checks the effects of the tools: one for a finished tool, at most one for an
// interrupted tool.
func (s *deployment) checkEffects(tasks map[uuid.UUID]*taskTrace, turns []turn) {
	s.t.Helper()
	ends := s.endsOfCalls(tasks, turns)
	effects := map[string]int{}
	for _, effect := range strings.Fields(s.read("effects.txt")) {
		effects[effect]++
	}
	for key, end := range ends {
		var i, j int
		if _, err := fmt.Sscanf(key, "%d/%d", &i, &j); err != nil {
			s.t.Fatal(err)
		}
		c := turns[i].Calls[j]
		for effect, n := range s.effectsOf(c, i, effects) {
			if n > 1 || (n == 0 && end == perdure.EventTaskCompleted) {
				s.t.Errorf("turn %d, call %d, %s: %s took place %d times, and the task is %s", i, j, c.Name, effect, n, end)
			}
		}
	}
}

// effectsOf returns how often each effect of a call occurred.
func (s *deployment) effectsOf(c toolCall, turn int, lines map[string]int) map[string]int {
	found := map[string]int{}
	count := func(what string, there bool) {
		found[what] = 0
		if there {
			found[what] = 1
		}
	}
	switch c.Name {
	case "bash":
		command := c.Arguments.(map[string]any)["command"].(string)
		for _, word := range strings.FieldsFunc(command, func(r rune) bool { return r == ' ' || r == ';' }) {
			if strings.HasPrefix(word, "begin-") || strings.HasPrefix(word, "end-") {
				found[word] = lines[word]
			}
		}
	case "write-file":
		count("writing", s.read(fmt.Sprintf("out/%d.txt", turn)) == fmt.Sprintf("written in turn %d\n", turn))
	case "edit-file":
		count("editing", s.read(fmt.Sprintf("edits/%d.txt", turn)) == "after\n")
	}
	return found
}

// endsOfCalls returns how the task of each call ended, by turn and position in the turn. Each call
// must have exactly one task.
func (s *deployment) endsOfCalls(tasks map[uuid.UUID]*taskTrace, turns []turn) map[string]perdure.EventType {
	s.t.Helper()
	ends := map[string]perdure.EventType{}
	for _, task := range tasks {
		if task.kind == "llm-request" {
			continue
		}
		var turn, part int
		if _, err := fmt.Sscanf(task.turn, "turn_%d", &turn); err != nil {
			s.t.Fatalf("task %+v: %v", *task, err)
		}
		place := task.call[strings.LastIndex(task.call, "_")+1:]
		if _, err := fmt.Sscan(place, &part); err != nil {
			s.t.Fatalf("task %+v: %v", *task, err)
		}
		// The message begins with a thinking part and a text part. The calls follow.
		key := fmt.Sprintf("%d/%d", turn, part-2)
		if ends[key] != "" {
			s.t.Errorf("two tasks for call %s", key)
		}
		ends[key] = task.end
	}
	if n := countCalls(turns); len(ends) != n {
		s.t.Errorf("%d tasks for %d tool calls", len(ends), n)
	}
	return ends
}
