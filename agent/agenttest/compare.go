package agenttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/perdure/perdure"
)

// different returns a description of how the outcome `got` differs from the outcome `want`, with
// likely causes. It returns "" if they are equal.
func different(want, got Outcome) string {
	var b strings.Builder
	part := func(what, diff string) {
		if diff != "" {
			fmt.Fprintf(&b, "%s (-undisturbed +disturbed):\n%s", what, diff)
			if !strings.HasSuffix(diff, "\n") {
				b.WriteString("\n")
			}
		}
	}
	part("the status", cmp.Diff(want.Status, got.Status))
	part("the error", cmp.Diff(withoutStack(want.Error), withoutStack(got.Error)))
	part("the output", cmp.Diff(pretty(want.Output), pretty(got.Output)))
	part("the conversation", conversation(want, got))
	part("the tasks", cmp.Diff(taskLines(want), taskLines(got)))
	part("the signals taken", cmp.Diff(want.Signals, got.Signals))
	part("the questions", cmp.Diff(want.Questions, got.Questions))
	if b.Len() == 0 {
		return ""
	}
	for _, advice := range advise(want, got) {
		b.WriteString(advice + "\n")
	}
	return b.String()
}

// withoutStack returns the message without the stack of a panic, because the stack contains
// addresses, which differ between runs.
func withoutStack(message string) string {
	before, _, _ := strings.Cut(message, "\ngoroutine ")
	return before
}

func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// conversation returns how the messages of two outcomes differ. If their visible texts are equal, it
// compares the other parts, such as signatures and usage.
func conversation(want, got Outcome) string {
	if diff := cmp.Diff(lines(want), lines(got)); diff != "" {
		return diff
	}
	return cmp.Diff(want.Messages, got.Messages)
}

func taskLines(o Outcome) []string {
	lines := make([]string, len(o.Tasks))
	for i, t := range o.Tasks {
		lines[i] = t.line()
	}
	return lines
}

// advise returns likely causes for the difference between the two outcomes, with advice.
func advise(want, got Outcome) []string {
	var advice []string
	more, less := balance(lines(want), lines(got))
	twice := slices.ContainsFunc(more, func(l string) bool { return slices.Contains(lines(want), l) })
	if twice {
		advice = append(advice, fmt.Sprintf("A message was appended again (%s): the function was entered again from the top and did what it had done. Append with agent.WithKey, or look at Messages() or State before you append.", more[0]))
	}
	if len(less) > 0 && want.Status == got.Status {
		advice = append(advice, fmt.Sprintf("A message is missing (%s): what the agent remembers outside of its execution, in a package variable or a field, says that it was appended, and the commit never came. Remember it by Checkpoint and State.", less[0]))
	}
	more, less = balance(taskLines(want), taskLines(got))
	switch {
	case len(more) > 0:
		advice = append(advice, fmt.Sprintf("A task was asked for that is not among those of the undisturbed run (%s): an input that depends on the time, on chance or on the order of a map makes a new task each time the function is entered. Make such a value in a Step, whose result is recorded.", more[0]))
	case len(less) > 0 && want.Status == got.Status:
		advice = append(advice, fmt.Sprintf("A task was not asked for (%s): what the agent remembers outside of its execution, in a package variable or a field, outlives what was committed. Remember it by Checkpoint and State.", less[0]))
	}
	if len(advice) == 0 {
		advice = append(advice, "What the agent gives has to follow from its input, its State, its messages, and the results of tasks, steps and signals alone: not from the time, from chance, or from variables outside of the function. If the difference is right, take it out in Scenario.Normalize.")
	}
	return advice
}

func lines(o Outcome) []string {
	all := make([]string, len(o.Messages))
	for i, m := range o.Messages {
		all[i] = line(m)
	}
	return all
}

// balance returns the elements that occur more often in b than in a, and those that occur less often.
func balance(a, b []string) (more, less []string) {
	count := map[string]int{}
	for _, l := range a {
		count[l]--
	}
	for _, l := range b {
		if count[l]++; count[l] > 0 {
			more = append(more, l)
		}
	}
	for _, l := range a {
		if count[l] < 0 {
			less = append(less, l)
			count[l]++
		}
	}
	return more, less
}

// interrupted reports whether a task of the outcome has ended as INTERRUPTED.
func interrupted(o Outcome) bool {
	return slices.ContainsFunc(o.Tasks, func(t TaskOutcome) bool { return t.Status == perdure.TaskInterrupted })
}
