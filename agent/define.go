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
	// Unless contains names of signals. The execution does not end while a signal with one of these
	// names is pending: Run is entered again to take it.
	Unless []string
}

// Define creates an agent that a worker can register under the kind. The JSON Schema of the input is
// derived from In.
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

// DefineFunc does the same as Define, for an agent that is a function.
func DefineFunc[In, Out any](kind string, fn func(ctx Context, in In) (Out, error)) Definition {
	return Define(kind, Func[In, Out](fn))
}

// Output returns a copy of the definition that registers a JSON Schema of the output, such as
// Schema[Out](). Workers can register different schemas for the kind. If an output fits none of the
// schemas that workers have registered in the last 24 hours, the execution fails with code
// invalid_argument.
func (d Definition) Output(schema json.RawMessage) Definition {
	d.Spec.OutputSchema = schema
	return d
}

// Tags returns a copy of the definition with tags. Clients filter lists of kinds and executions by
// these tags.
func (d Definition) Tags(tags ...string) Definition {
	d.Spec.Tags = tags
	return d
}

// TaskContext is the context of one attempt of a task, which the task's function receives. As a
// context.Context it ends when the attempt is cancelled, times out, or loses its lease.
type TaskContext interface {
	context.Context
	// Task returns the task. Its field Attempt is the number of this attempt, from 1.
	Task() *perdure.Task
	// Workspace returns the folder of the execution, relative to the worker's root.
	Workspace() string
	// Execution returns the execution to which the task belongs.
	Execution() (*perdure.Execution, error)
	// Path returns the entries of the path from the root to the entry `leaf`, in this order.
	Path(leaf uuid.UUID) iter.Seq2[perdure.Entry, error]
	// ContextPath returns those entries of the path to the entry `leaf` from which
	// perdure.ContextOf builds what a model sees. See Context.ContextPath. Schedule the task with
	// the option ReadsContext.
	ContextPath(leaf uuid.UUID) iter.Seq2[perdure.Entry, error]
	// Tasks returns tasks and records of steps of the execution, with inputs and results, in the
	// order of the arguments. It returns nil in place of a task that does not exist. It reads from
	// the server.
	Tasks(ids ...uuid.UUID) ([]*perdure.Task, error)
	// Stream returns the stream for content that clients read while it grows.
	Stream() Stream
	// Progress records the progress of the attempt. Clients see it in the list of tasks after the
	// worker's next heartbeat. A call of Progress counts as a call of Heartbeat.
	Progress(v any)
	// Heartbeat reports that the task's code is still running. A task with the option
	// HeartbeatTimeout must call Heartbeat or Progress at least once in any period of that length.
	Heartbeat()
}

// TaskDefinition is a task kind as a worker registers it. DefineTask creates one from a function with
// typed input and result.
type TaskDefinition struct {
	Spec perdure.KindSpec
	Run  func(ctx TaskContext, input json.RawMessage) (json.RawMessage, error)
	// Replay is set if results of the task are expensive, such as answers of models. The worker
	// stores such a result on its disk (worker.Config.Results) until the server has acknowledged
	// it. If the worker claims the task again before that, it does not call Run. It calls Replay
	// with the stored result.
	//
	// Replay streams what Run has streamed, and the attempt then returns the stored result. If
	// Replay returns an error, the worker discards the stored result and calls Run. Replay may
	// return an error only before it streams anything.
	Replay func(ctx TaskContext, result json.RawMessage) error
	// Confines reports that Run obeys perdure.RequiresConfined in the options of the task: it runs no
	// command that it cannot confine. If Confines is not set, the worker does not call Run for such a
	// task, and the task fails with permission_denied. The tools of react.Tasks have it set.
	Confines bool
}

// Permanent wraps err so that the task is not retried.
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
