package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure"
)

// Loop calls step until it reports that it is done, and makes a checkpoint of the
// state after each call. A function that is entered again resumes with the state of
// the newest checkpoint, so its resume costs the same after the first step and after
// the hundred thousandth. It suits functions whose whole progress fits into the state.
//
// Before the first call, state holds what the caller put there, or the newest
// checkpoint's state if the execution has one. Step changes it. After each checkpoint
// it is decoded from the committed bytes: what JSON does not carry, such as unexported
// fields, is lost at once and not only after a crash.
//
// Step returns true to end the loop. The call that ends it makes no checkpoint: what
// it did is committed with what follows, and the function's end. An error ends the
// loop as well, without a checkpoint, and Loop returns it. Loop returns the errors of
// Checkpoint, too: payload_too_large for a state over the server's limit, and
// ErrCancelled.
//
// After a crash or a discard the call that had not reached its checkpoint runs again,
// with the state that it had begun with. Steps, tasks, sleeps and waits that it had
// made return what they returned before, and signals that it had taken come again in
// the same order. Use the Context that step gets: in it the names of steps and the keys
// of tasks belong to one call of step, so each call may use the same names, and an equal
// task in a later call is another task. A caller's own Key is used as it is. What step
// appends needs a key (WithKey) that is the same when the call runs again.
//
// The checkpoint consumes the signals that step has taken, and what has been recorded
// before it is not read again. What a later call needs of either belongs into the
// state. The state is stored whole each time, so it is best kept to some KiB.
//
// A function has one Loop, and makes no checkpoint besides.
func Loop[S any](ctx Context, state *S, step func(ctx Context, state *S) (done bool, err error)) error {
	if state == nil {
		return perdure.FieldErrorf("state", "is missing; give a pointer to the state that the loop begins with")
	}
	if _, err := load(ctx, state); err != nil {
		return err
	}
	for {
		done, err := step(iteration{ctx, fmt.Sprintf("loop:%d:", ctx.CheckpointSeq())}, state)
		if err != nil || done {
			return err
		}
		if err := ctx.Checkpoint(state, Reason("loop")); err != nil {
			return err
		}
		if _, err := load(ctx, state); err != nil {
			return err
		}
	}
}

// load replaces the state by the newest checkpoint's, if there is one.
func load[S any](ctx Context, state *S) (bool, error) {
	var stored S
	known, err := ctx.State(&stored)
	if known && err == nil {
		*state = stored
	}
	return known, err
}

// iteration is the Context of one call of a Loop's step. The checkpoint that the call
// begins from tells its steps and tasks apart from those of other calls; it is the same
// when the call runs again.
type iteration struct {
	Context
	prefix string
}

// Schedule implements Context.
func (i iteration) Schedule(kind string, input any, opts ...TaskOption) Future {
	return i.Context.Schedule(kind, input, append(opts[:len(opts):len(opts)], func(s *TaskSettings) {
		if s.Key == "" {
			s.TaskOptions.Instance = i.prefix + s.TaskOptions.Instance
		}
	})...)
}

// RunStep implements Context.
func (i iteration) RunStep(name string, fn func(context.Context) (json.RawMessage, error), opts ...StepOption) (json.RawMessage, error) {
	return i.Context.RunStep(name, fn, append(opts[:len(opts):len(opts)], func(s *StepSettings) {
		s.Instance = i.prefix + s.Instance
	})...)
}
