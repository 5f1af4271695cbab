package agent

import (
	"context"
	"encoding/json"

	"github.com/perdure/perdure"
)

// Await waits for one task and decodes its result. Errors: the task's *perdure.TaskError, or the error
// of the wait.
func Await[T any](ctx Context, f Future) (T, error) {
	var out T
	results, err := ctx.Await(All, f)
	if err != nil {
		return out, err
	}
	return decode[T](results[0])
}

// Call schedules a task, waits for it, and decodes its result. Errors: those of Await.
func Call[T any](ctx Context, kind string, input any, opts ...TaskOption) (T, error) {
	return Await[T](ctx, ctx.Schedule(kind, input, opts...))
}

// JoinAll waits for all tasks and returns their results in the order of the futures. If a task
// fails, it returns that task's error without waiting for the others. Without futures, it returns
// no results.
func JoinAll[T any](ctx Context, futures ...Future) ([]T, error) {
	out := make([]T, len(futures))
	if len(futures) == 0 {
		return out, nil
	}
	results, err := ctx.Await(AllOrFailure, futures...)
	if err != nil {
		return nil, err
	}
	for _, r := range results {
		if r.Ended() && r.Err() != nil {
			return nil, r.Err()
		}
	}
	for i, r := range results {
		if out[i], err = decode[T](r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Settled is the result or the error of one task that JoinSettled has waited for.
type Settled[T any] struct {
	Value T
	Err   error
}

// JoinSettled waits until all tasks have ended, and returns their results and errors in the order
// of the futures.
func JoinSettled[T any](ctx Context, futures ...Future) ([]Settled[T], error) {
	out := make([]Settled[T], len(futures))
	if len(futures) == 0 {
		return out, nil
	}
	results, err := ctx.Await(All, futures...)
	if err != nil {
		return nil, err
	}
	for i, r := range results {
		out[i].Value, out[i].Err = decode[T](r)
	}
	return out, nil
}

// Select waits until one task has succeeded, and returns the index and the result of that task. If
// several tasks have succeeded, it returns the first in the order of the futures. If all tasks have
// failed, it returns the index -1 and the error of the last future. Without futures, it returns
// invalid_argument.
func Select[T any](ctx Context, futures ...Future) (int, T, error) {
	var zero T
	if len(futures) == 0 {
		return -1, zero, perdure.FieldErrorf("futures", "select needs at least one")
	}
	results, err := ctx.Await(FirstSuccess, futures...)
	if err != nil {
		return -1, zero, err
	}
	var last error
	for i, r := range results {
		if !r.Ended() {
			continue
		}
		if last = r.Err(); last == nil {
			value, err := decode[T](r)
			return i, value, err
		}
	}
	return -1, zero, last
}

// SelectCancel does the same as Select, and also cancels the tasks that it did not choose. The next
// commit contains the cancellation.
func SelectCancel[T any](ctx Context, futures ...Future) (int, T, error) {
	chosen, value, err := Select[T](ctx, futures...)
	if chosen < 0 {
		return chosen, value, err
	}
	for i, f := range futures {
		if i != chosen {
			ctx.CancelTask(f)
		}
	}
	return chosen, value, err
}

// Step runs fn in this process and records its result. An agent that is entered again receives the
// recorded result; see Context.RunStep. Until the agent's function is entered again, each name may
// be used only once, unless StepInstance distinguishes the uses.
func Step[T any](ctx Context, name string, fn func(context.Context) (T, error), opts ...StepOption) (T, error) {
	var out T
	raw, err := ctx.RunStep(name, func(c context.Context) (json.RawMessage, error) {
		value, err := fn(c)
		if err != nil {
			return nil, err
		}
		return json.Marshal(value)
	}, opts...)
	if err != nil {
		return out, err
	}
	return out, unmarshal(raw, &out)
}

func decode[T any](r Result) (T, error) {
	var out T
	if err := r.Err(); err != nil {
		return out, err
	}
	return out, unmarshal(r.Task.Result, &out)
}
