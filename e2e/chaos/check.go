package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// Check returns a description of each error in the data of a run.
func Check(r Run) []string {
	c := &check{Run: r, tasks: map[string]*task{}, byCall: map[string]*task{}, results: map[string]string{}}
	c.end()
	c.log()
	c.transcript()
	c.effects()
	c.signals()
	c.models()
	return c.wrong
}

// check is the state while the checks examine one run.
type check struct {
	Run
	wrong  []string
	tasks  map[string]*task // by id
	byCall map[string]*task // by the tool call's internal id
	order  []*task
	// results contains the outcome of each effect: done, interrupted or skipped.
	results map[string]string
	turns   int // assistant messages
}

// task is what the events of the log say about a task.
type task struct {
	kind, call, turn string
	attempts         int
	end              perdure.EventType
}

func (c *check) add(format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf("run %d (%s): ", c.Script.Run, c.ID)+fmt.Sprintf(format, args...))
}

// end checks that the run has ended with the expected status.
func (c *check) end() {
	want := perdure.StatusCancelled
	if c.OneShot {
		want = perdure.StatusCompleted
	}
	if c.Status != want {
		c.add("it is %s, not %s", c.Status, want)
	}
}

// log checks that the seqs of events have no gaps, that tasks end once, and that no event of a task
// follows the event of the task's end.
func (c *check) log() {
	for i, e := range c.Log {
		if e.Seq != int64(i)+1 {
			c.add("event %d of the log has the seq %d", i+1, e.Seq)
			return
		}
		if e.Type.IsTask() {
			c.taskEvent(e)
		}
	}
	for _, t := range c.order {
		if t.end == "" {
			c.add("the task of %s, %s has not ended", t.kind, t.call)
		}
	}
	if n := len(c.Log); n == 0 || !c.Log[n-1].Type.Ends() {
		c.add("its log has no end")
	}
}

func (c *check) taskEvent(e Event) {
	t := c.tasks[e.Task]
	if t == nil {
		t = &task{kind: e.Kind, call: e.Call, turn: e.Turn}
		c.tasks[e.Task], c.order = t, append(c.order, t)
		if e.Call != "" && c.byCall[e.Call] != nil {
			c.add("there are two tasks for call %s", e.Call)
		}
		c.byCall[e.Call] = t
	}
	if t.end != "" {
		c.add("%s of a task that had ended, seq %d", e.Type, e.Seq)
	}
	switch e.Type {
	case perdure.EventTaskStarted:
		t.attempts++
	case perdure.EventTaskCompleted, perdure.EventTaskInterrupted:
		t.end = e.Type
	case perdure.EventTaskFailed, perdure.EventTaskCancelled:
		t.end = e.Type
		c.add("%s: %s %s", e.Type, t.kind, t.call)
	}
}

// transcript checks that the conversation equals the script, with each answer and each tool result
// once and in its place. Messages that the user sends later are checked by c.signals.
func (c *check) transcript() {
	rest := c.Messages
	if len(rest) == 0 || rest[0].Role != perdure.RoleUser || rest[0].PlainText() != c.Script.Prompt() {
		c.add("it does not begin with its prompt")
		return
	}
	for rest = pastUser(rest); len(rest) > 0; rest = pastUser(rest) {
		c.turns++
		if rest = c.turn(rest); rest == nil {
			return
		}
	}
	if c.turns <= c.Script.Turns {
		c.add("it ends after %d turns, and %d have tools", c.turns, c.Script.Turns)
	}
}

// pastUser returns rest without the user's messages at its start.
func pastUser(rest []perdure.Message) []perdure.Message {
	for len(rest) > 0 && rest[0].Role == perdure.RoleUser {
		rest = rest[1:]
	}
	return rest
}

// turn checks the model's answer at the start of rest and the results of its tool calls, and returns the
// messages after them. It returns nil if the answer is wrong, or if a result is missing.
func (c *check) turn(rest []perdure.Message) []perdure.Message {
	said, calls := rest[0], c.Script.Calls(c.turns)
	rest = rest[1:]
	if said.Role != perdure.RoleAssistant || said.PlainText() != c.Script.Says(c.turns) {
		c.add("turn %d is %s %q, not %q", c.turns, said.Role, said.PlainText(), c.Script.Says(c.turns))
		return nil
	}
	asked := partsOf(said, perdure.PartToolCall)
	if len(asked) != len(calls) || len(rest) < len(calls) {
		c.add("turn %d has %d calls and %d messages follow, not %d", c.turns, len(asked), len(rest), len(calls))
		return nil
	}
	for i, call := range calls {
		results := partsOf(rest[i], perdure.PartToolResult)
		if len(results) != 1 || results[0].ToolName != call.Tool {
			c.add("turn %d: %d results stand where that of %s belongs", c.turns, len(results), call.Tool)
			return nil
		}
		c.result(call, results[0], rest[len(calls):])
	}
	return rest[len(calls):]
}

func partsOf(m perdure.Message, kind perdure.PartType) []perdure.Part {
	return slices.DeleteFunc(slices.Clone(m.Parts), func(p perdure.Part) bool { return p.Type != kind })
}

// Outcomes of a tool call.
const (
	done        = "done"
	interrupted = "interrupted"
	skipped     = "skipped"
)

// result checks one tool result. If the tool has finished, its result must equal the script's.
// Otherwise the result must say why the tool has not finished, and the log must show the same reason.
func (c *check) result(call Call, p perdure.Part, after []perdure.Message) {
	text := strings.TrimSuffix(perdure.Content{Parts: p.Parts}.PlainText(), "\n")
	t, how := c.byCall[p.ToolCallID], done
	switch {
	case p.IsError && strings.HasPrefix(text, "interrupted"):
		how = interrupted
		if t == nil || t.end != perdure.EventTaskInterrupted {
			c.add("turn %d: %s is said to be interrupted, and its task is not", c.turns, call.Tool)
		}
	case p.IsError && strings.HasPrefix(text, "skipped"):
		how = skipped
		if t != nil && t.attempts > 0 {
			c.add("turn %d: %s is said to be skipped, and its task has begun", c.turns, call.Tool)
		}
		if len(after) == 0 || after[0].Role != perdure.RoleUser {
			c.add("turn %d: %s was skipped, and nobody said anything", c.turns, call.Tool)
		}
	case text != strings.TrimSuffix(call.Result, "\n"):
		c.add("turn %d: %s gave %q, not %q", c.turns, call.Tool, text, call.Result)
	case t == nil || t.end != perdure.EventTaskCompleted:
		c.add("turn %d: %s has a result, and no task that was completed", c.turns, call.Tool)
	}
	if call.Effect != "" {
		c.results[call.Effect] = how
	}
}

// effects checks how often the effect of each tool happened. The effect of a finished tool happened
// once, the effect of an interrupted tool at most once, and the effect of a skipped tool never.
func (c *check) effects() {
	for name, how := range c.results {
		for _, line := range []string{"begin-" + name, "end-" + name} {
			n := c.Effects[line]
			if n > 1 || how == done && n == 0 || how == skipped && n > 0 {
				c.add("%s took place %d times, and the call is %s", line, n, how)
			}
		}
	}
	for line := range c.Effects {
		_, name, _ := strings.Cut(line, "-")
		if c.results[name] == "" {
			c.add("%q took place, and nothing in the conversation asks for it", line)
		}
	}
}
