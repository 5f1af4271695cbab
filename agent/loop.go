package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure"
)

// Loop calls step until it returns true, and creates a checkpoint of the state after each call. A
// function that is entered again resumes with the state of the newest checkpoint. So its resume
// costs the same after the first step and after the hundred thousandth. Loop suits functions whose
// whole progress fits into the state.
//
// Before the first call, state holds the caller's value, or the newest checkpoint's state if the
// execution has one. Step changes it. After each checkpoint, the state is decoded from the
// committed bytes. Data that JSON does not carry, such as unexported fields, is therefore lost at
// once, and not only after a crash.
//
// Step returns true to end the loop. The call that ends the loop creates no checkpoint: its work is
// committed with the work after the loop and the function's end. An error ends the loop as well,
// without a checkpoint, and Loop returns it. Loop also returns the errors of Checkpoint:
// payload_too_large for a state over the server's limit, and ErrCancelled.
//
// After a crash or a discard, a call without its checkpoint runs again, with the state at its
// beginning. Its steps, tasks, sleeps and waits return their recorded results, and the signals that
// it took are delivered in the same order. Use the Context that step receives: it makes the names
// of steps and the keys of tasks local to one call of step. Each call may use the same names, and
// an equal task in a later call is another task. A caller's own Key is used unchanged. Entries that
// step appends need a key (WithKey) that is the same when the call runs again.
//
// The checkpoint consumes the signals that step has taken, and records from before it are not read
// again. Data of them that a later call needs belongs into the state. The whole state is stored
// each time, so keep it to some KiB.
//
// A function has one Loop and creates no other checkpoints.
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

// load replaces the state with the newest checkpoint's state, if there is one.
func load[S any](ctx Context, state *S) (bool, error) {
	var stored S
	known, err := ctx.State(&stored)
	if known && err == nil {
		*state = stored
	}
	return known, err
}

// iteration is the Context of one call of a Loop's step. The checkpoint at the beginning of the
// call distinguishes its steps and tasks from those of other calls. That checkpoint is the same
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
