// Package agent is the API for the code of agents. An agent is a function over a Context: it
// appends messages, schedules tasks, runs steps, waits for signals and sleeps. Every blocking call
// commits the work before it. After a crash the function is entered again with the committed data.
//
// A blocking call may never return. When the worker discards the goroutine, it ends it as
// testing.T.FailNow ends a test. The function is then entered again from the top, on this worker or
// another, with the committed data. So do not hold a lock or a sync.Once over a blocking call.
// Deferred functions run at each discard. Code that must run at the end of the execution belongs
// into OnEnd.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// Agent is code that runs executions of one kind.
type Agent[In, Out any] interface {
	Run(ctx Context, in In) (Out, error)
}

// Func is a function that implements Agent.
type Func[In, Out any] func(ctx Context, in In) (Out, error)

// Run calls f.
func (f Func[In, Out]) Run(ctx Context, in In) (Out, error) { return f(ctx, in) }

var (
	// ErrDiscarded is the cause of a Context whose goroutine was discarded.
	ErrDiscarded = errors.New("the goroutine was discarded; its execution is entered again where it is claimed")
	// ErrCancelled is the cause of a Context whose execution is being cancelled.
	ErrCancelled = errors.New("the execution is being cancelled")
	// ErrLeaseLost is the cause of a Context whose worker lost the lease.
	ErrLeaseLost = errors.New("the lease on the execution is over")
	// ErrTimeout is returned by WaitSignal if the timeout passes first.
	ErrTimeout = errors.New("no such signal came in time")
)

// Context is the interface between an agent and its execution. It is a context.Context that ends
// when the execution is cancelled, the lease is lost or the goroutine is discarded. context.Cause
// returns the reason.
//
// Its own methods belong to Run's goroutine. The methods that block (see their comments) panic if
// another goroutine calls them. Other goroutines may use the context.Context, and a Stream that
// Run's goroutine passed to them.
type Context interface {
	context.Context

	// ID returns the id of the execution.
	ID() uuid.UUID
	// Execution returns the execution as it was at the claim.
	Execution() *perdure.Execution
	// Place returns the current turn and response.
	Place() perdure.Place
	// SetPlace sets the current turn and response.
	SetPlace(perdure.Place)
	// SetTurn begins another turn of the same response. The work that follows has the turn's id and
	// belongs to no message yet.
	SetTurn(id string)

	// Messages returns the path of entries, root first. It commits pending work first, so it
	// blocks. It loads only the entries that this worker does not hold.
	Messages() iter.Seq2[perdure.Entry, error]
	// Tail returns the newest n entries of the path, oldest first. If n is 0, it returns the
	// entries since the newest checkpoint. It commits pending work first, so it blocks.
	Tail(n int) ([]perdure.Entry, error)
	// PathOf returns the path of entries from the root to leaf of an execution in the same org,
	// root first.
	PathOf(execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error]
	// Leaf returns the entry that becomes the parent of the next entry; nil if there is none.
	Leaf() *uuid.UUID
	// Append adds a message at the leaf and returns its id. The message is committed with the next
	// blocking call, Checkpoint or Flush, or at the end of the function.
	Append(m perdure.Message, opts ...AppendOption) (uuid.UUID, error)

	// Checkpoint commits pending work with a new checkpoint of the state. It blocks, unless
	// WithNext adds the checkpoint to the next commit.
	Checkpoint(state any, opts ...CheckpointOption) error
	// State decodes the newest checkpoint's state into v. It returns false if there is no
	// checkpoint.
	State(v any) (bool, error)
	// StateVersion returns the version of the newest checkpoint's state; 0 if there is none.
	// Versioned uses it.
	StateVersion() int
	// CheckpointSeq returns the number of the newest checkpoint; 0 if there is none.
	CheckpointSeq() int64
	// Flush commits pending work. It blocks.
	Flush() error

	// Schedule schedules a task. The task is committed with the next blocking call. Tasks of equal
	// kind and input are one task with one result, unless Instance distinguishes them.
	Schedule(kind string, input any, opts ...TaskOption) Future
	// Await blocks until the wait over the futures is met, and returns the state of each of them.
	Await(how How, futures ...Future) ([]Result, error)
	// CancelTask cancels a task of this execution with the next commit.
	CancelTask(f Future)

	// RunStep runs fn in this process and records its outcome before it returns. When the agent is
	// entered again, RunStep returns the recorded outcome. If the worker dies after fn and before
	// the record, fn runs again. RunStep blocks.
	RunStep(name string, fn func(context.Context) (json.RawMessage, error), opts ...StepOption) (json.RawMessage, error)

	// WaitSignal waits for a signal whose name matches the pattern, and takes it. If timeout is
	// over 0 and passes first, it returns ErrTimeout. It blocks.
	WaitSignal(pattern string, timeout time.Duration) (perdure.Signal, error)
	// WaitAnySignal is WaitSignal for several patterns. It takes the first sent signal of those
	// that match a pattern. It blocks.
	WaitAnySignal(timeout time.Duration, patterns ...string) (perdure.Signal, error)
	// WaitAny waits until one of the conditions is met. If several are met at once, it returns the
	// first in the list. If timeout is over 0 and passes first, it returns ErrTimeout. It blocks.
	WaitAny(timeout time.Duration, conditions ...Condition) (Met, error)
	// DrainSignals takes all matching signals that are pending, without a limit, in the order in
	// which they were sent. Signals taken since the newest checkpoint come first.
	DrainSignals(pattern string) ([]perdure.Signal, error)
	// HasSignal reports whether a matching signal is pending.
	HasSignal(pattern string) (bool, error)

	// Sleep blocks for d. The time counts from the first call, even if the function is entered again
	// in between.
	Sleep(d time.Duration) error

	// Emit adds an event of type data to the next commit.
	Emit(data any) error
	// Stream returns the stream through which clients see content while it grows.
	Stream() Stream
	// OnEnd registers a function that runs after the execution has ended, if it ends in this
	// process. After a crash the function does not run.
	OnEnd(fn func(perdure.Status))
}

// Stream sends growing content to clients. Its methods do not block: the content is committed in
// the background, and completely before the source's next commit.
type Stream interface {
	// Text and Thinking append to the message's text and thinking.
	Text(s string)
	Thinking(s string)
	// Terminal appends to the output of a command; stream is stdout or stderr.
	Terminal(stream string, p []byte)
	// ToolArguments appends to the arguments of a tool call.
	ToolArguments(toolCallID, s string)
	// Break ends the current block. The next text begins a new block.
	Break()
	// Data sends an event of type data.
	Data(data any)
	// Error sends an error.
	Error(message string, code perdure.Code)
	// SetPlace sets the position in the conversation of the content that follows.
	SetPlace(perdure.Place)
}

// Future refers to a scheduled task.
type Future struct {
	ID   uuid.UUID
	Kind string
	err  error
}

// FailedFuture returns a future of a task that could not be scheduled. Every wait for it returns
// err.
func FailedFuture(kind string, err error) Future { return Future{Kind: kind, err: err} }

// Err returns the error for which the task could not be scheduled, or nil.
func (f Future) Err() error { return f.err }

// FutureOf returns a future of a task that is already scheduled, by its id.
func FutureOf(id uuid.UUID, kind string) Future { return Future{ID: id, Kind: kind} }

// Result is the state of a task.
type Result struct {
	Task *perdure.Task // nil while it has not ended
}

// Ended reports whether the task has ended.
func (r Result) Ended() bool { return r.Task != nil && r.Task.Status.Terminal() }

// Err returns nil for a completed task, and otherwise an error that describes how it ended.
func (r Result) Err() error {
	switch {
	case !r.Ended():
		return perdure.Errorf(perdure.Unavailable, "the task has not ended")
	case r.Task.Status == perdure.TaskCompleted:
		return nil
	case r.Task.Error != nil:
		return r.Task.Error
	}
	return &perdure.TaskError{Code: perdure.Internal, Message: "the task ended " + string(r.Task.Status)}
}

// How determines when a wait over futures is met.
type How int

const (
	// All waits until every task has ended in any way.
	All How = iota
	// AllOrFailure waits until every task has completed or one has failed.
	AllOrFailure
	// FirstSuccess waits until one task has completed or all have failed.
	FirstSuccess
	// First waits until one task has ended in any way.
	First
)
