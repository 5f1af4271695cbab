package perdure

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// TaskCondition says which outcome of a task meets a wait: any end, success, or failure.
type TaskCondition string

const (
	// TaskEnded is met by any end of the task. An empty condition means the same.
	TaskEnded     TaskCondition = "ended"
	TaskSucceeded TaskCondition = "succeeded"
	TaskDidFail   TaskCondition = "failed"
)

// Wait is the condition on which a suspended execution becomes PENDING again. It is a tree: its leaves
// wait for signals, tasks, questions and timers, and other nodes combine their children. Exactly one of
// the fields Any, All, Signal, Task, Question, Timer and After is set and determines the [WaitKind] of
// a node. A leaf that is met stays met. So the code that stores a signal or ends a task can evaluate
// the tree without reading the state of other leaves again.
type Wait struct {
	Any    []Wait        `json:"any,omitempty"`
	All    []Wait        `json:"all,omitempty"`
	Signal string        `json:"signal,omitempty"` // name or pattern of a signal
	Task   *uuid.UUID    `json:"task,omitempty"`
	On     TaskCondition `json:"on,omitempty"`
	// Question is met when the question has a decision, has expired or was withdrawn.
	Question *uuid.UUID `json:"question,omitempty"`
	Timer    *Time      `json:"timer,omitempty"`
	// After is a duration by the store's clock. It begins when the agent first calls the wait with
	// the name Name after the newest checkpoint. In a stored wait, Timer is set and After is not.
	After time.Duration `json:"after,omitempty"`
	Name  string        `json:"name,omitempty"`
	Met   bool          `json:"met,omitempty"`
}

// Facts provides the current state with which the nodes of a wait are evaluated.
type Facts interface {
	// SignalPending reports whether a signal that matches the pattern is pending.
	SignalPending(pattern string) bool
	// TaskStatus returns the status of the task with this id; PENDING if the task is unknown.
	TaskStatus(id uuid.UUID) TaskStatus
	// QuestionFinal reports whether the status of the question is final.
	QuestionFinal(id uuid.UUID) bool
	// Now returns the store's time.
	Now() Time
}

// WaitSignal returns a wait for a signal whose name matches the pattern.
func WaitSignal(pattern string) Wait { return Wait{Signal: pattern} }

// WaitTask returns a wait for the end of a task.
func WaitTask(id uuid.UUID) Wait { return Wait{Task: &id} }

// WaitTaskOn returns a wait that is met when the task has ended and its end meets the given
// condition.
func WaitTaskOn(id uuid.UUID, on TaskCondition) Wait { return Wait{Task: &id, On: on} }

// WaitQuestion returns a wait for the decision about a question.
func WaitQuestion(id uuid.UUID) Wait { return Wait{Question: &id} }

// WaitUntil returns a wait for a time.
func WaitUntil(t Time) Wait { return Wait{Timer: &t} }

// WaitAfter returns a wait for the duration d. The duration begins when the agent first calls the
// wait with this name after the newest checkpoint.
func WaitAfter(name string, d time.Duration) Wait {
	return Wait{Name: name, After: max(d, 1)}
}

// WaitAny returns a wait that is met when at least one of the given waits is met.
func WaitAny(waits ...Wait) Wait { return Wait{Any: waits} }

// WaitAll returns a wait that is met when all of the given waits are met.
func WaitAll(waits ...Wait) Wait { return Wait{All: waits} }

// Reason returns the kind of the wait as clients see it. It is "task" if the wait contains a task
// that has not ended, else "question" if it contains a question without a decision, else "signal"
// or "timer". It is "unknown" if a node has a kind that this program does not know.
func (w Wait) Reason() string {
	reason := WaitKindTimer
	w.walk(func(leaf Wait) { reason = leaf.reasonAfter(reason) })
	return reason.String()
}

// reasonAfter is one step of Reason, which calls it for each childless node w in order. The argument
// `reason` is the kind that people should see for the nodes before w. reasonAfter returns that kind
// for the nodes up to and including w.
func (w Wait) reasonAfter(reason WaitKind) WaitKind {
	kind := w.Kind()
	switch kind {
	case WaitKindTimer, WaitKindAfter:
		return reason
	case WaitKindSignal, WaitKindQuestion, WaitKindTask:
		if kind != WaitKindSignal && w.Met || reason == WaitKindUnknown || reasonOrder[kind] < reasonOrder[reason] {
			return reason
		}
		return kind
	default:
		return WaitKindUnknown
	}
}

// reasonOrder ranks the kinds of waits for Reason, which returns the kind with the highest rank.
var reasonOrder = map[WaitKind]int{WaitKindSignal: 1, WaitKindQuestion: 2, WaitKindTask: 3}

// Signals returns the signal names and patterns in the wait.
func (w Wait) Signals() []string {
	var names []string
	w.walk(func(leaf Wait) {
		if leaf.Kind() == WaitKindSignal {
			names = append(names, leaf.Signal)
		}
	})
	return names
}

// TakesSignal reports whether the name of a signal matches one of the names and patterns that
// Signals returns.
func (w Wait) TakesSignal(name string) bool {
	return slices.ContainsFunc(w.Signals(), func(pattern string) bool { return MatchName(pattern, name) })
}

// Tasks returns the ids of the tasks in the wait, each once.
func (w Wait) Tasks() []uuid.UUID {
	var ids []uuid.UUID
	seen := map[uuid.UUID]bool{}
	w.walk(func(leaf Wait) {
		if leaf.Kind() == WaitKindTask && !seen[*leaf.Task] {
			seen[*leaf.Task] = true
			ids = append(ids, *leaf.Task)
		}
	})
	return ids
}

// Questions returns the ids of the questions in the wait, each once.
func (w Wait) Questions() []uuid.UUID {
	var ids []uuid.UUID
	seen := map[uuid.UUID]bool{}
	w.walk(func(leaf Wait) {
		if leaf.Kind() == WaitKindQuestion && !seen[*leaf.Question] {
			seen[*leaf.Question] = true
			ids = append(ids, *leaf.Question)
		}
	})
	return ids
}

// NextTimer returns the due time of the earliest of those timers in the wait that are not met. It
// returns false if the wait has no such timer.
func (w Wait) NextTimer() (Time, bool) {
	var next Time
	found := false
	w.walk(func(leaf Wait) {
		if leaf.Kind() != WaitKindTimer || leaf.Met {
			return
		}
		if !found || leaf.Timer.Before(next.Time) {
			next, found = *leaf.Timer, true
		}
	})
	return next, found
}

// HasTimer reports whether the wait contains a timer, met or not. It is false for a nil wait.
func (w *Wait) HasTimer() bool {
	found := false
	if w != nil {
		w.walk(func(leaf Wait) { found = found || leaf.Kind() == WaitKindTimer })
	}
	return found
}

// At returns a copy of w in which a Timer replaces each After. The record `asked` has the due time
// of each named timer for which an earlier call of At computed the due time. For such a name, At
// uses the recorded due time. Otherwise the due time is the store's time `now` plus After, and At
// adds it to the returned record.
func (w Wait) At(now Time, asked RecordedWaits) (Wait, RecordedWaits) {
	at := func(waits []Wait) []Wait {
		if waits == nil {
			return nil
		}
		resolved := make([]Wait, len(waits))
		for i, child := range waits {
			resolved[i], asked = child.At(now, asked)
		}
		return resolved
	}
	w.Any, w.All = at(w.Any), at(w.All)
	if w.Kind() == WaitKindAfter {
		due, known := asked.Due(w.Name)
		if !known {
			due = now.Add(w.After)
			asked.Dues = append(slices.Clip(asked.Dues), TimerDue{w.Name, due})
		}
		w.Timer, w.After, w.Name = &due, 0, ""
	}
	return w, asked
}

// Mark returns a copy of the wait in which Met is set for each node that is met according to the
// facts. It also reports whether the whole wait is met. A node of a kind that this program does not
// know is not met.
func (w Wait) Mark(facts Facts) (Wait, bool) {
	if w.Met {
		return w, true
	}
	w.Any, w.All = markEach(w.Any, facts), markEach(w.All, facts)
	met, err := w.decide(
		func(child Wait) (bool, error) { return child.Met, nil },
		func(leaf Wait) (bool, error) { return leaf.metBy(facts), nil },
	)
	w.Met = met && err == nil
	return w, w.Met
}

func markEach(waits []Wait, facts Facts) []Wait {
	if waits == nil {
		return nil
	}
	marked := make([]Wait, len(waits))
	for i, child := range waits {
		marked[i], _ = child.Mark(facts)
	}
	return marked
}

func (c TaskCondition) meets(status TaskStatus) bool {
	switch c {
	case TaskSucceeded:
		return status == TaskCompleted
	case TaskDidFail:
		return status.Terminal() && status != TaskCompleted
	}
	return status.Terminal()
}

// Check returns an error if the wait is invalid. Each node must have exactly one kind, Any and All
// must have children, and names and patterns must be valid. Errors: invalid_argument, unsupported
// (a node has no kind that this program knows).
func (w Wait) Check() error { return w.check("wait", 0) }

const (
	maxWaitDepth = 16
	maxTimerName = 400
)

func (w Wait) check(at string, depth int) error {
	switch n := w.kinds(); {
	case n == 0:
		return unsupportedWait(at)
	case n > 1:
		return FieldErrorf(at, "must have exactly one of %s", knownWaitKinds())
	case depth > maxWaitDepth:
		return FieldErrorf(at, "is nested deeper than %d", maxWaitDepth)
	}
	switch w.On {
	case "", TaskEnded, TaskSucceeded, TaskDidFail:
	default:
		return FieldErrorf(at, "on must be ended, succeeded or failed")
	}
	switch w.Kind() {
	case WaitKindAny:
		if len(w.Any) == 0 {
			return FieldErrorf(at, "any must name at least one wait")
		}
		return checkEach(w.Any, at+".any", depth+1)
	case WaitKindAll:
		return checkEach(w.All, at+".all", depth+1)
	case WaitKindSignal:
		return CheckPattern(w.Signal)
	case WaitKindTask, WaitKindQuestion, WaitKindTimer:
		return nil
	case WaitKindAfter:
		if w.After < 0 || w.Name == "" || len(w.Name) > maxTimerName {
			return FieldErrorf(at, "after must be over 0 and have a name of 1 to %d characters", maxTimerName)
		}
		return nil
	default:
		return unsupportedWait(at)
	}
}

func checkEach(waits []Wait, at string, depth int) error {
	for _, child := range waits {
		if err := child.check(at, depth); err != nil {
			return err
		}
	}
	return nil
}

// walk calls `visit` for each node of the wait that has no children.
func (w Wait) walk(visit func(Wait)) {
	if w.Kind().Leaf() {
		visit(w)
		return
	}
	for _, child := range w.Any {
		child.walk(visit)
	}
	for _, child := range w.All {
		child.walk(visit)
	}
}

// CheckName returns an error if the name of a signal is invalid. A valid name has 1 to 200
// characters, no wildcard, and no empty segment (segments are separated by dots).
func CheckName(name string) error {
	if strings.Contains(name, "*") {
		return FieldErrorf("signalName", "must not hold *, which stands for patterns")
	}
	return CheckPattern(name)
}

// CheckPattern returns an error if the name or pattern of a signal is invalid.
func CheckPattern(pattern string) error {
	if pattern == "" || len(pattern) > 200 {
		return FieldErrorf("signalName", "must have 1 to 200 characters")
	}
	if err := CheckText("signalName", pattern); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(pattern, ".") {
		if segment == "" {
			return FieldErrorf("signalName", "%q has an empty segment", pattern)
		}
		if strings.Contains(segment, "*") && segment != "*" && segment != "**" {
			return FieldErrorf("signalName", "in %q a wildcard must be a segment of its own", pattern)
		}
	}
	return nil
}

// IsPattern reports whether the name contains a wildcard.
func IsPattern(name string) bool { return strings.Contains(name, "*") }

// MatchName reports whether a signal's name matches the pattern. Segments are separated by dots; *
// matches exactly one segment, and ** one or more.
func MatchName(pattern, name string) bool {
	if !IsPattern(pattern) {
		return pattern == name
	}
	return matchSegments(strings.Split(pattern, "."), strings.Split(name, "."))
}

// matchSegments reports whether the segments of a name match those of a pattern. It backtracks only to
// the last **, so its time is at most proportional to the product of both lengths.
func matchSegments(pattern, name []string) bool {
	p, n := 0, 0
	deep, took := -1, 0 // index of the last **, and of the last segment it matched
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			deep, took = p, n
			p, n = p+1, n+1
		case p < len(pattern) && (pattern[p] == "*" || pattern[p] == name[n]):
			p, n = p+1, n+1
		case deep >= 0:
			took++
			p, n = deep+1, took+1
		default:
			return false
		}
	}
	return p == len(pattern)
}
