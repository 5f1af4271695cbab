package agent

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Definition is an agent as a worker registers it.
type Definition struct {
	Spec perdure.KindSpec
	Run  func(ctx Context, input json.RawMessage) (json.RawMessage, error)
	// Unless names signals that keep an execution from ending while they are
	// pending: Run is entered again with them.
	Unless []string
}

// Define creates an agent of a kind. The schema of its input follows from the Go
// type.
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

// TaskContext is a task's attempt as its code sees it. It ends when the attempt
// is cancelled, times out, or its lease is lost.
type TaskContext interface {
	context.Context
	// Task is the task; Attempt in it counts from 1.
	Task() *perdure.Task
	// Workspace is the execution's folder, relative to the worker's root.
	Workspace() string
	// Execution is the execution that the task belongs to.
	Execution() (*perdure.Execution, error)
	// Path returns the entries from the root to leaf.
	Path(leaf uuid.UUID) iter.Seq2[perdure.Entry, error]
	// Stream shows content to clients.
	Stream() Stream
	// Progress notes how far the attempt is. Clients see it in the list of tasks
	// with the worker's next heartbeat. It is a sign of life, as Heartbeat is.
	Progress(v any)
	// Heartbeat says that the code is at work; see HeartbeatTimeout.
	Heartbeat()
}

// TaskDefinition is a task kind as a worker registers it.
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

// DefineTask creates a task kind of a function. An error of the function is tried
// again, up to the task's attempts, unless it is Permanent.
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

// Permanent marks an error that another attempt would not mend.
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
