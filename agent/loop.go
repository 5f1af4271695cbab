package agent

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/scope"
)

// Loop calls `step` until `step` returns true. After each call that returns false, Loop creates a
// checkpoint of the state. An agent's function that is entered again resumes with the state of the
// newest checkpoint. So a resume costs the same after the first call and after the hundred
// thousandth. Loop suits agents whose whole progress fits into the state.
//
// At the first call, *state is the value that the program has set or, if the execution has a
// checkpoint, the state of the newest checkpoint. `step` changes the state. After each checkpoint,
// the state is decoded from the committed bytes. So data without a JSON encoding, such as unexported
// fields, is lost at once, and not only after a crash.
//
// `step` returns true to end the loop. The call that ends the loop creates no checkpoint: its work
// is committed with the work after the loop, or with the end of the agent's function. If `step`
// returns an error, that also ends the loop without a checkpoint, and Loop returns the error. Loop
// also returns the errors of Checkpoint: payload_too_large for a state over the server's limit, and
// ErrCancelled.
//
// After a crash or a discard, a call of `step` that has no checkpoint yet runs again, with the state
// that it had at its beginning. Its steps, tasks, sleeps and waits return their recorded results, and
// the signals that it took are delivered in the same order.
//
// `step` must use the Context that it receives. In this Context, names of steps and keys of tasks
// are local to one call of `step`. Each call may use the same names, and an equal task in a later
// call is a different task. A Key that `step` sets is used unchanged. Entries that `step` appends
// need a key (WithKey) that is the same when the call runs again.
//
// The checkpoint consumes the signals that `step` has taken, and a resume does not read records from
// before the checkpoint. So data that a later call needs must be in the state. The whole state is
// stored each time; keep it to some KiB.
//
// An agent's function may have one Loop, and must create no other checkpoints.
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

// load decodes the state of the newest checkpoint into *state. It returns false, and leaves *state
// unchanged, if the execution has no checkpoint.
func load[S any](ctx Context, state *S) (bool, error) {
	var stored S
	known, err := ctx.State(&stored)
	if known && err == nil {
		*state = stored
	}
	return known, err
}

// iteration is the Context for one call of `step` in Loop. Its prefix is derived from the checkpoint
// before the call, so steps and tasks of different calls have different names. When a call runs
// again, its prefix is the same.
type iteration struct {
	Context
	prefix string
}

// Value implements context.Context. For scope.Key it returns the prefix, so that other packages can
// read the prefix with package scope.
func (i iteration) Value(key any) any {
	if key == (scope.Key{}) {
		return i.prefix
	}
	return i.Context.Value(key)
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
