package agent

import (
	"encoding/json"

	"github.com/perdure/perdure"
)

// TaskKind is implemented by the types that a worker can register as a task kind: Task and
// TaskDefinition.
type TaskKind interface {
	Definition() TaskDefinition
}

// Definition returns d. With this method, TaskDefinition implements TaskKind.
func (d TaskDefinition) Definition() TaskDefinition { return d }

// Task is a task kind whose input has the type In and whose result has the type Out. A worker registers
// it, and an agent uses it to schedule tasks. The task may run on another worker than the agent; both
// use the same Task value.
type Task[In, Out any] struct {
	TaskDefinition
}

// Output returns a copy of the task kind that registers a JSON Schema of the result, such as
// Schema[Out](). Workers can register different schemas for the kind. If a result fits none of the
// schemas that workers have registered in the last 24 hours, the task fails with code
// invalid_argument, and is not retried.
func (t Task[In, Out]) Output(schema json.RawMessage) Task[In, Out] {
	t.Spec.OutputSchema = schema
	return t
}

// DefineTask creates a task kind from a function. If the function returns an error, the task is
// retried, up to its maximum number of attempts, unless the error is Permanent.
func DefineTask[In, Out any](kind string, fn func(ctx TaskContext, in In) (Out, error)) Task[In, Out] {
	return Task[In, Out]{TaskDefinition{
		Spec: perdure.KindSpec{Kind: kind, InputSchema: Schema[In]()},
		Run: func(ctx TaskContext, input json.RawMessage) (json.RawMessage, error) {
			var in In
			if err := unmarshal(input, &in); err != nil {
				return nil, Permanent(err)
			}
			out, err := fn(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(out)
		},
	}}
}

// Schedule schedules a task of the kind, as Context.Schedule does, and returns a typed future.
func (t Task[In, Out]) Schedule(ctx Context, in In, opts ...TaskOption) TypedFuture[Out] {
	return TypedFuture[Out]{ctx.Schedule(t.Spec.Kind, in, opts...)}
}

// Call schedules a task of the kind, waits for it, and returns its result. It blocks. Errors: those
// of TypedFuture.Await.
func (t Task[In, Out]) Call(ctx Context, in In, opts ...TaskOption) (Out, error) {
	return t.Schedule(ctx, in, opts...).Await(ctx)
}

// TypedFuture refers to a scheduled task whose result has the type Out. Its Future is for functions
// that take futures of any type, such as OnTask and Context.CancelTask.
type TypedFuture[Out any] struct {
	Future
}

// Await waits for the task and returns its result. It blocks. Errors: the task's *perdure.TaskError, or
// the error of the wait.
func (f TypedFuture[Out]) Await(ctx Context) (Out, error) { return Await[Out](ctx, f.Future) }

// Futures returns the untyped futures of typed futures, for functions such as JoinAll and Select.
func Futures[Out any](typed ...TypedFuture[Out]) []Future {
	all := make([]Future, len(typed))
	for i, f := range typed {
		all[i] = f.Future
	}
	return all
}
