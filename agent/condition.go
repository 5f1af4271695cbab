package agent

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
)

// Condition is what WaitAny waits for: a signal, a task, a timer, or any or all
// of several. The functions On... make one; exactly one field is set.
type Condition struct {
	Signal string        `json:"signal,omitempty"`
	Task   *Future       `json:"task,omitempty"`
	Timer  time.Duration `json:"timer,omitempty"`
	Any    []Condition   `json:"any,omitempty"`
	All    []Condition   `json:"all,omitempty"`
}

// OnSignal is met by a signal whose name matches the pattern. It is taken by the
// WaitAny that gives it.
func OnSignal(pattern string) Condition { return Condition{Signal: pattern} }

// OnTask is met by the end of a task, whatever the end.
func OnTask(f Future) Condition { return Condition{Task: &f} }

// OnTimer is met d after the first time that the wait was asked for.
func OnTimer(d time.Duration) Condition { return Condition{Timer: max(d, 1)} }

// OnAny is met when one of the conditions is.
func OnAny(conditions ...Condition) Condition { return Condition{Any: list(conditions)} }

// OnAll is met when all of the conditions are. A signal counts for every one of
// them that it matches.
func OnAll(conditions ...Condition) Condition { return Condition{All: list(conditions)} }

// list keeps an empty list apart from none.
func list(conditions []Condition) []Condition { return append([]Condition{}, conditions...) }

// MarshalJSON writes what tells a future from others.
func (f Future) MarshalJSON() ([]byte, error) { return json.Marshal(f.ID) }

// Check tells what is wrong with a condition; the error of a future that could
// not be asked for is it, too.
func (c Condition) Check() error {
	var failed error
	c.Walk(func(leaf Condition) {
		switch {
		case failed != nil:
		case leaf.Task != nil:
			failed = leaf.Task.Err()
		case leaf.Signal != "":
			failed = perdure.CheckPattern(leaf.Signal)
		case leaf.Timer <= 0:
			failed = perdure.FieldErrorf("conditions", "a condition needs a signal, a task or a timer; make it with OnSignal, OnTask or OnTimer")
		}
	})
	if failed == nil && c.Any != nil && len(c.Any) == 0 {
		return perdure.FieldErrorf("conditions", "OnAny needs at least one condition")
	}
	return failed
}

// HasTimer reports whether a timer is among the conditions.
func (c Condition) HasTimer() bool {
	found := false
	c.Walk(func(leaf Condition) { found = found || leaf.Timer > 0 })
	return found
}

// Walk visits the conditions that are not any or all, in order.
func (c Condition) Walk(visit func(Condition)) {
	if c.Any == nil && c.All == nil {
		visit(c)
		return
	}
	for _, child := range c.Any {
		child.Walk(visit)
	}
	for _, child := range c.All {
		child.Walk(visit)
	}
}

// Met is how a WaitAny was met.
type Met struct {
	// Index is that of the condition; the lowest, if several were met.
	Index int
	// Signals are those that the condition took, in its order.
	Signals []perdure.Signal
	// Tasks says how each task of the condition stands, in its order.
	Tasks []Result
}

// Signal is the first signal that was taken; the zero one if there is none.
func (m Met) Signal() perdure.Signal {
	if len(m.Signals) == 0 {
		return perdure.Signal{}
	}
	return m.Signals[0]
}

// ValueOf decodes the result of the nth task of what was met. An error is the
// task's own (*perdure.TaskError).
func ValueOf[T any](m Met, n int) (T, error) {
	if n < 0 || n >= len(m.Tasks) {
		var zero T
		return zero, perdure.FieldErrorf("n", "what was met has %d tasks", len(m.Tasks))
	}
	return decode[T](m.Tasks[n])
}
