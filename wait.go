package perdure

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// TaskCondition says which end of a task a wait's leaf asks for.
type TaskCondition string

const (
	// TaskEnded is met by any end; it is the condition of an empty string, too.
	TaskEnded     TaskCondition = "ended"
	TaskSucceeded TaskCondition = "succeeded"
	TaskDidFail   TaskCondition = "failed"
)

// Wait is the condition on which a suspended execution becomes pending again:
// a tree of any and all over signals, tasks and timers. Exactly one of the
// fields that make a kind is set. Met leaves stay met, so that a producer can
// decide from the stored tree and its own fact alone.
type Wait struct {
	Any    []Wait        `json:"any,omitempty"`
	All    []Wait        `json:"all,omitempty"`
	Signal string        `json:"signal,omitempty"` // a name or a pattern
	Task   *uuid.UUID    `json:"task,omitempty"`
	On     TaskCondition `json:"on,omitempty"`
	Timer  *Time         `json:"timer,omitempty"`
	// After is a timer that is due so long after the first time that it was
	// asked for under Name since the newest checkpoint, by the store's clock.
	// What is stored has Timer in its place.
	After time.Duration `json:"after,omitempty"`
	Name  string        `json:"name,omitempty"`
	Met   bool          `json:"met,omitempty"`
}

// Facts answers what a wait asks about the moment.
type Facts interface {
	// SignalPending reports whether a signal that matches the pattern waits.
	SignalPending(pattern string) bool
	// TaskStatus returns the task's status; PENDING for an unknown one.
	TaskStatus(id uuid.UUID) TaskStatus
	// Now is the store's time.
	Now() Time
}

// WaitSignal waits for a signal whose name matches pattern.
func WaitSignal(pattern string) Wait { return Wait{Signal: pattern} }

// WaitTask waits for the end of a task.
func WaitTask(id uuid.UUID) Wait { return Wait{Task: &id} }

// WaitTaskOn waits for the given end of a task.
func WaitTaskOn(id uuid.UUID, on TaskCondition) Wait { return Wait{Task: &id, On: on} }

// WaitUntil waits for a moment.
func WaitUntil(t Time) Wait { return Wait{Timer: &t} }

// WaitAfter waits for d, counted from the first time that it was asked for under
// the name since the newest checkpoint.
func WaitAfter(name string, d time.Duration) Wait {
	return Wait{Name: name, After: max(d, 1)}
}

// WaitAny is met when one of the waits is.
func WaitAny(waits ...Wait) Wait { return Wait{Any: waits} }

// WaitAll is met when all of the waits are.
func WaitAll(waits ...Wait) Wait { return Wait{All: waits} }

// Reason says in one word what the wait is for, as clients see it: task if it
// holds a task, else signal, else timer.
func (w Wait) Reason() string {
	reason := "timer"
	w.walk(func(leaf Wait) {
		switch {
		case leaf.Task != nil:
			reason = "task"
		case leaf.Signal != "" && reason != "task":
			reason = "signal"
		}
	})
	return reason
}

// Signals returns the patterns that the wait names.
func (w Wait) Signals() []string {
	var names []string
	w.walk(func(leaf Wait) {
		if leaf.Signal != "" {
			names = append(names, leaf.Signal)
		}
	})
	return names
}

// TakesSignal reports whether the wait names the signal, by itself or by a pattern.
func (w Wait) TakesSignal(name string) bool {
	return slices.ContainsFunc(w.Signals(), func(pattern string) bool { return MatchName(pattern, name) })
}

// Tasks returns the tasks that the wait names, each once.
func (w Wait) Tasks() []uuid.UUID {
	var ids []uuid.UUID
	seen := map[uuid.UUID]bool{}
	w.walk(func(leaf Wait) {
		if leaf.Task != nil && !seen[*leaf.Task] {
			seen[*leaf.Task] = true
			ids = append(ids, *leaf.Task)
		}
	})
	return ids
}

// NextTimer returns the earliest moment that the wait names and that is not met.
func (w Wait) NextTimer() (Time, bool) {
	var next Time
	found := false
	w.walk(func(leaf Wait) {
		if leaf.Timer == nil || leaf.Met {
			return
		}
		if !found || leaf.Timer.Before(next.Time) {
			next, found = *leaf.Timer, true
		}
	})
	return next, found
}

// HasTimer reports whether a moment is among what the wait waits for, also one
// that has come. No wait has none.
func (w *Wait) HasTimer() bool {
	found := false
	if w != nil {
		w.walk(func(leaf Wait) { found = found || leaf.Timer != nil })
	}
	return found
}

// At returns the tree with every timer that was asked for by its duration
// resolved, and what is kept with the due times of those that are new.
func (w Wait) At(now Time, asked Asked) (Wait, Asked) {
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
	if w.After > 0 {
		due, known := asked.Due(w.Name)
		if !known {
			due = now.Add(w.After)
			asked.Dues = append(slices.Clip(asked.Dues), Due{w.Name, due})
		}
		w.Timer, w.After, w.Name = &due, 0, ""
	}
	return w, asked
}

// Mark returns the tree with every leaf that the facts meet marked, and whether
// the whole is met. The receiver is left as it was.
func (w Wait) Mark(facts Facts) (Wait, bool) {
	switch {
	case w.Met:
		return w, true
	case w.Any != nil:
		w.Any, w.Met = markEach(w.Any, facts, false)
	case w.All != nil:
		w.All, w.Met = markEach(w.All, facts, true)
	case w.Signal != "":
		w.Met = facts.SignalPending(w.Signal)
	case w.Task != nil:
		w.Met = w.On.meets(facts.TaskStatus(*w.Task))
	case w.Timer != nil:
		w.Met = w.Timer.Reached(facts.Now())
	}
	return w, w.Met
}

func markEach(waits []Wait, facts Facts, all bool) ([]Wait, bool) {
	marked := make([]Wait, len(waits))
	count := 0
	for i, child := range waits {
		var met bool
		if marked[i], met = child.Mark(facts); met {
			count++
		}
	}
	if all {
		return marked, count == len(waits)
	}
	return marked, count > 0
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

// Check tells what is wrong with the tree: each node must be of one kind, an
// any must have children, names and patterns must be well formed.
func (w Wait) Check() error { return w.check("wait", 0) }

const (
	maxWaitDepth = 16
	maxTimerName = 400
)

func (w Wait) check(at string, depth int) error {
	kinds := 0
	for _, set := range []bool{w.Any != nil, w.All != nil, w.Signal != "", w.Task != nil, w.Timer != nil, w.After != 0} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return FieldErrorf(at, "must have exactly one of any, all, signal, task, timer and after")
	}
	if w.After < 0 || w.After != 0 && (w.Name == "" || len(w.Name) > maxTimerName) {
		return FieldErrorf(at, "after must be over 0 and have a name of 1 to %d characters", maxTimerName)
	}
	if depth > maxWaitDepth {
		return FieldErrorf(at, "is nested deeper than %d", maxWaitDepth)
	}
	if w.Any != nil && len(w.Any) == 0 {
		return FieldErrorf(at, "any must name at least one wait")
	}
	if w.Signal != "" {
		return CheckPattern(w.Signal)
	}
	switch w.On {
	case "", TaskEnded, TaskSucceeded, TaskDidFail:
	default:
		return FieldErrorf(at, "on must be ended, succeeded or failed")
	}
	for _, child := range w.Any {
		if err := child.check(at+".any", depth+1); err != nil {
			return err
		}
	}
	for _, child := range w.All {
		if err := child.check(at+".all", depth+1); err != nil {
			return err
		}
	}
	return nil
}

// walk visits the leaves.
func (w Wait) walk(visit func(Wait)) {
	if w.Any == nil && w.All == nil {
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

// CheckName tells what is wrong with a signal's name: 1 to 200 characters, no
// empty segment, no wildcard.
func CheckName(name string) error {
	if strings.Contains(name, "*") {
		return FieldErrorf("signalName", "must not hold *, which stands for patterns")
	}
	return CheckPattern(name)
}

// CheckPattern tells what is wrong with a signal pattern.
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

// IsPattern reports whether the name holds a wildcard.
func IsPattern(name string) bool { return strings.Contains(name, "*") }

// MatchName reports whether name matches pattern: segments are divided by dots,
// * is one segment, ** is one or more.
func MatchName(pattern, name string) bool {
	if !IsPattern(pattern) {
		return pattern == name
	}
	return matchSegments(strings.Split(pattern, "."), strings.Split(name, "."))
}

// matchSegments goes back to the last ** only, so that its cost is bounded by the
// product of the lengths.
func matchSegments(pattern, name []string) bool {
	p, n := 0, 0
	deep, took := -1, 0 // the last ** passed, and the last segment that it took
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
