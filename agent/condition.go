package agent

import (
	"encoding/json"
	"time"

	"github.com/perdure/perdure"
)

// Condition is a condition for WaitAny: a signal, a task, a question, a timer, or any or all of several
// conditions. OnSignal, OnTask, OnQuestion, OnTimer, OnAny and OnAll create conditions. Exactly one
// field is set.
type Condition struct {
	Signal   string        `json:"signal,omitempty"`
	Task     *Future       `json:"task,omitempty"`
	Question *QuestionRef  `json:"question,omitempty"`
	Timer    time.Duration `json:"timer,omitempty"`
	Any      []Condition   `json:"any,omitempty"`
	All      []Condition   `json:"all,omitempty"`
}

// OnSignal returns a condition that is met by a signal whose name matches the pattern. If the
// condition ends a WaitAny, WaitAny takes the signal.
func OnSignal(pattern string) Condition { return Condition{Signal: pattern} }

// OnTask returns a condition that is met when the task has ended in any way.
func OnTask(f Future) Condition { return Condition{Task: &f} }

// OnTimer returns a condition that is met when the duration d has passed since the first call of
// WaitAny with this condition.
func OnTimer(d time.Duration) Condition { return Condition{Timer: max(d, 1)} }

// OnAny returns a condition that is met when at least one of the given conditions is met.
func OnAny(conditions ...Condition) Condition { return Condition{Any: list(conditions)} }

// OnAll returns a condition that is met when all of the given conditions are met. One signal can meet
// several of them.
func OnAll(conditions ...Condition) Condition { return Condition{All: list(conditions)} }

// list returns a copy of conditions that is never nil, so that an empty list differs from no list.
func list(conditions []Condition) []Condition { return append([]Condition{}, conditions...) }

// MarshalJSON writes the id of the task, which identifies the future.
func (f Future) MarshalJSON() ([]byte, error) { return json.Marshal(f.ID) }

// Kind returns the kind of the perdure.Wait to which the condition is converted, or WaitKindUnknown if
// no field is set. It is never WaitKindTimer, because timers of conditions have durations, not points
// in time.
func (c Condition) Kind() perdure.WaitKind {
	switch {
	case c.Any != nil:
		return perdure.WaitKindAny
	case c.All != nil:
		return perdure.WaitKindAll
	case c.Task != nil:
		return perdure.WaitKindTask
	case c.Question != nil:
		return perdure.WaitKindQuestion
	case c.Signal != "":
		return perdure.WaitKindSignal
	case c.Timer > 0:
		return perdure.WaitKindAfter
	}
	return perdure.WaitKindUnknown
}

// Check returns invalid_argument if the condition is invalid, or the error of a future whose task could
// not be scheduled.
func (c Condition) Check() error {
	var failed error
	c.Walk(func(leaf Condition) {
		if failed == nil {
			failed = leaf.checkLeaf()
		}
	})
	if failed == nil && c.Any != nil && len(c.Any) == 0 {
		return perdure.FieldErrorf("conditions", "OnAny needs at least one condition")
	}
	return failed
}

func (c Condition) checkLeaf() error {
	switch c.Kind() {
	case perdure.WaitKindTask:
		return c.Task.Err()
	case perdure.WaitKindQuestion:
		return c.Question.Err()
	case perdure.WaitKindSignal:
		return perdure.CheckPattern(c.Signal)
	case perdure.WaitKindAfter:
		return nil
	default:
		return perdure.FieldErrorf("conditions", "a condition needs a signal, a task, a question or a timer; make it with OnSignal, OnTask, OnQuestion or OnTimer")
	}
}

// HasTimer reports whether the condition contains a timer.
func (c Condition) HasTimer() bool {
	found := false
	c.Walk(func(leaf Condition) { found = found || leaf.Kind() == perdure.WaitKindAfter })
	return found
}

// Walk calls the function `visit` for each leaf of c in order. A leaf is a condition that is not a
// list of conditions.
func (c Condition) Walk(visit func(Condition)) {
	if c.Kind().Leaf() {
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

// WaitResult describes which condition ended a WaitAny, and how.
type WaitResult struct {
	// Index is the index of the condition in the arguments of WaitAny. If several were met, it is
	// the lowest.
	Index int
	// Signals are the signals that met the condition, which WaitAny has taken. They have the order in
	// which the condition names them.
	Signals []perdure.Signal
	// Tasks are the states of the tasks in the condition, in the order in which the condition names
	// them.
	Tasks []Result
	// Questions are the questions in the condition, in the order in which the condition names them.
	// An open question has only its id and status. Any other question has all fields that
	// AwaitQuestion returns.
	Questions []perdure.Question
}

// Signal returns the first element of Signals, or the zero Signal if there is none.
func (m WaitResult) Signal() perdure.Signal {
	if len(m.Signals) == 0 {
		return perdure.Signal{}
	}
	return m.Signals[0]
}

// ValueOf decodes the result of the nth task of the condition, counted from 0. If the task failed, the
// error is its *perdure.TaskError.
func ValueOf[T any](m WaitResult, n int) (T, error) {
	if n < 0 || n >= len(m.Tasks) {
		var zero T
		return zero, perdure.FieldErrorf("n", "what was met has %d tasks", len(m.Tasks))
	}
	return decode[T](m.Tasks[n])
}
