package agent

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Definition is an agent in the form that a worker registers.
type Definition struct {
	Spec perdure.KindSpec
	Run  func(ctx Context, input json.RawMessage) (json.RawMessage, error)
	// Unless names signals that prevent the end of an execution while they are pending. Run is
	// entered again with them.
	Unless []string
}

// Define creates an agent of a kind. The schema of the input is derived from its Go type.
func Define[In, Out any](kind string, a Agent[In, Out]) Definition {
	return Definition{
		Spec: perdure.KindSpec{Kind: kind, InputSchema: Schema[In]()},
		Run: func(ctx Context, input json.RawMessage) (json.RawMessage, error) {
			var in In
			if err := unmarshal(input, &in); err != nil {
				return nil, err
			}
			out, err := a.Run(ctx, in)
			if err != nil {
				return nil, err
			}
			return json.Marshal(out)
		},
	}
}

// DefineFunc is Define for a function.
func DefineFunc[In, Out any](kind string, fn func(ctx Context, in In) (Out, error)) Definition {
	return Define(kind, Func[In, Out](fn))
}

// TaskContext is the interface between a task's code and its attempt. The context ends when the
// attempt is cancelled, times out, or loses its lease.
type TaskContext interface {
	context.Context
	// Task returns the task. Its field Attempt counts from 1.
	Task() *perdure.Task
	// Workspace returns the execution's folder, relative to the worker's root.
	Workspace() string
	// Execution returns the execution to which the task belongs.
	Execution() (*perdure.Execution, error)
	// Path returns the entries from the root to leaf.
	Path(leaf uuid.UUID) iter.Seq2[perdure.Entry, error]
	// Stream returns the stream through which clients see content while it grows.
	Stream() Stream
	// Progress records the attempt's progress. Clients see it in the list of tasks after the
	// worker's next heartbeat. It counts as a sign of life, like Heartbeat.
	Progress(v any)
	// Heartbeat reports that the code is running; see HeartbeatTimeout.
	Heartbeat()
}

// TaskDefinition is a task kind in the form that a worker registers.
type TaskDefinition struct {
	Spec perdure.KindSpec
	Run  func(ctx TaskContext, input json.RawMessage) (json.RawMessage, error)
	// Replay, if set, marks results that are expensive, such as answers of models.
	// The worker stores such a result on its disk (worker.Config.Results) until the
	// server has acknowledged it. If the worker claims the task again before that,
	// it calls Replay with the stored result in place of Run. Replay streams what
	// Run had streamed; the attempt then ends with the stored result. An error,
	// which Replay may return only before it streams anything, discards the stored
	// result and calls Run.
	Replay func(ctx TaskContext, result json.RawMessage) error
}

// DefineTask creates a task kind from a function. If the function returns an error, the task is
// tried again, up to its maximum number of attempts, unless the error is Permanent.
func DefineTask[In, Out any](kind string, fn func(ctx TaskContext, in In) (Out, error)) TaskDefinition {
	return TaskDefinition{
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
	}
}

// Permanent marks an error for which another attempt is useless.
func Permanent(err error) error {
	return &perdure.TaskError{Code: codeOf(err), Message: messageOf(err), Permanent: true}
}

func codeOf(err error) perdure.Code {
	if code := perdure.CodeOf(err); code != perdure.Internal {
		return code
	}
	return "task_failed"
}

func messageOf(err error) string { return err.Error() }
