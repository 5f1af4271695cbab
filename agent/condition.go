package agent

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
)

// Condition is a condition for WaitAny: a signal, a task, a timer, or any or all of several
// conditions. The functions OnSignal, OnTask, OnTimer, OnAny and OnAll create one. Exactly one
// field is set.
type Condition struct {
	Signal string        `json:"signal,omitempty"`
	Task   *Future       `json:"task,omitempty"`
	Timer  time.Duration `json:"timer,omitempty"`
	Any    []Condition   `json:"any,omitempty"`
	All    []Condition   `json:"all,omitempty"`
}

// OnSignal returns a condition that is met by a signal whose name matches the pattern. The WaitAny
// that returns the signal takes it.
func OnSignal(pattern string) Condition { return Condition{Signal: pattern} }

// OnTask returns a condition that is met when the task has ended in any way.
func OnTask(f Future) Condition { return Condition{Task: &f} }

// OnTimer returns a condition that is met d after the wait's first call.
func OnTimer(d time.Duration) Condition { return Condition{Timer: max(d, 1)} }

// OnAny returns a condition that is met when one of the conditions is met.
func OnAny(conditions ...Condition) Condition { return Condition{Any: list(conditions)} }

// OnAll returns a condition that is met when all of the conditions are met. A signal counts for
// every condition that it matches.
func OnAll(conditions ...Condition) Condition { return Condition{All: list(conditions)} }

// list returns a copy that is not nil, so that an empty list differs from no list.
func list(conditions []Condition) []Condition { return append([]Condition{}, conditions...) }

// MarshalJSON writes the id, by which futures are distinguished.
func (f Future) MarshalJSON() ([]byte, error) { return json.Marshal(f.ID) }

// Check returns an error if the condition is invalid, or the error of a future whose task could not
// be scheduled.
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

// HasTimer reports whether the condition contains a timer.
func (c Condition) HasTimer() bool {
	found := false
	c.Walk(func(leaf Condition) { found = found || leaf.Timer > 0 })
	return found
}

// Walk calls visit for the conditions that are not any or all, in order.
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

// Met describes how a WaitAny was met.
type Met struct {
	// Index is the index of the met condition; the lowest, if several were met.
	Index int
	// Signals are the signals that the condition took, in the order of the condition.
	Signals []perdure.Signal
	// Tasks are the states of the condition's tasks, in the order of the condition.
	Tasks []Result
}

// Signal returns the first signal that was taken, or the zero Signal.
func (m Met) Signal() perdure.Signal {
	if len(m.Signals) == 0 {
		return perdure.Signal{}
	}
	return m.Signals[0]
}

// ValueOf decodes the result of the nth task of the met condition. If the task failed, the error is
// its *perdure.TaskError.
func ValueOf[T any](m Met, n int) (T, error) {
	if n < 0 || n >= len(m.Tasks) {
		var zero T
		return zero, perdure.FieldErrorf("n", "what was met has %d tasks", len(m.Tasks))
	}
	return decode[T](m.Tasks[n])
}
