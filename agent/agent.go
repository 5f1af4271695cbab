// Package agent is what agent code sees. An agent is a plain function over a
// Context: it appends messages, schedules tasks, runs steps, waits for signals
// and sleeps; what it did is committed at every blocking call, and a crash
// anywhere continues from there.
//
// A blocking call may not come back: when the goroutine is dropped it is ended
// the way testing.T.FailNow ends a test, and the function is entered again from
// the top, on this worker or another, with what was committed. So no lock and
// no sync.Once may be held over a blocking call, deferred functions run at each
// such drop, and what belongs to the execution's end goes into OnEnd.
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

// Func lets a function be an Agent.
type Func[In, Out any] func(ctx Context, in In) (Out, error)

// Run implements Agent.
func (f Func[In, Out]) Run(ctx Context, in In) (Out, error) { return f(ctx, in) }

var (
	// ErrDiscarded is the cause of a Context whose goroutine was dropped.
	ErrDiscarded = errors.New("the goroutine was discarded; its execution is entered again where it is claimed")
	// ErrCancelled is the cause of a Context whose execution is being cancelled.
	ErrCancelled = errors.New("the execution is being cancelled")
	// ErrLeaseLost is the cause of a Context whose worker lost the lease.
	ErrLeaseLost = errors.New("the lease on the execution is over")
	// ErrTimeout is what WaitSignal returns when the timeout came first.
	ErrTimeout = errors.New("no such signal came in time")
)

// Context is an execution as its agent sees it. It is a context.Context that
// ends when the execution is cancelled, the lease is lost or the goroutine is
// dropped; context.Cause tells which.
//
// Its own methods belong to Run's goroutine; those that block, named in their
// comments, panic when another calls them. What other goroutines may use is the
// context.Context, and a Stream that Run's goroutine gave them.
type Context interface {
	context.Context

	// ID is the execution's.
	ID() uuid.UUID
	// Execution is the execution as it was at the claim.
	Execution() *perdure.Execution
	// Place is the turn and response that what follows belongs to.
	Place() perdure.Place
	// SetPlace changes it.
	SetPlace(perdure.Place)
	// SetTurn begins another turn of the same response: what follows carries its
	// id, and belongs to no message yet.
	SetTurn(id string)

	// Messages returns the path of entries, root first, as it is committed: what is
	// pending is committed first, so it blocks. It reads only what this worker
	// does not hold.
	Messages() iter.Seq2[perdure.Entry, error]
	// Tail returns the newest n entries of the path, oldest first; n of 0 gives
	// those since the newest checkpoint. It commits what is pending as Messages
	// does, and blocks.
	Tail(n int) ([]perdure.Entry, error)
	// PathOf returns the path of entries of an execution of the org down to leaf,
	// root first.
	PathOf(execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error]
	// Leaf is the entry on which the next one hangs; nil before the first.
	Leaf() *uuid.UUID
	// Append adds a message at the leaf and returns its id. It is committed with
	// the next blocking call, Checkpoint, Flush or the end.
	Append(m perdure.Message, opts ...AppendOption) (uuid.UUID, error)

	// Checkpoint commits what is pending with a new checkpoint of the state. It
	// blocks, unless WithNext puts it off to the next commit.
	Checkpoint(state any, opts ...CheckpointOption) error
	// State decodes the newest checkpoint's state into v; it gives false if
	// there is none yet.
	State(v any) (bool, error)
	// StateVersion is the version that the newest checkpoint's state was saved
	// with; 0 for none. Versioned reads it.
	StateVersion() int
	// CheckpointSeq is the number of the newest checkpoint; 0 before the first.
	CheckpointSeq() int64
	// Flush commits what is pending. It blocks.
	Flush() error

	// Schedule asks for a task; it is committed with the next blocking call.
	// Equal kind and input are one task with one result, unless Instance tells
	// them apart.
	Schedule(kind string, input any, opts ...TaskOption) Future
	// Await blocks until the wait over the futures is met, and returns the state of
	// each of them.
	Await(how How, futures ...Future) ([]Result, error)
	// CancelTask cancels a task of this execution with the next commit.
	CancelTask(f Future)

	// RunStep runs fn in this process and records its outcome before it returns; an
	// agent that is entered again gets the record. A worker that dies between the end
	// of fn and the record leaves none: fn runs again. It blocks.
	RunStep(name string, fn func(context.Context) (json.RawMessage, error), opts ...StepOption) (json.RawMessage, error)

	// WaitSignal waits for a signal whose name matches the pattern, and takes it. With
	// a timeout over 0 it returns ErrTimeout when that has passed. It blocks.
	WaitSignal(pattern string, timeout time.Duration) (perdure.Signal, error)
	// WaitAnySignal is WaitSignal for several patterns: the signal that was sent
	// first among those that match any. It blocks.
	WaitAnySignal(timeout time.Duration, patterns ...string) (perdure.Signal, error)
	// WaitAny waits until one of the conditions is met. If several are met at once, the
	// first in the list counts. With a timeout over 0 it returns ErrTimeout when that
	// has passed. It blocks.
	WaitAny(timeout time.Duration, conditions ...Condition) (Met, error)
	// DrainSignals takes all the signals that match and are there now, however
	// many, in the order in which they were sent; those that were taken since the
	// newest checkpoint come first.
	DrainSignals(pattern string) ([]perdure.Signal, error)
	// HasSignal reports whether a signal that matches is there.
	HasSignal(pattern string) (bool, error)

	// Sleep blocks for d, counted from the first time it was asked for, also
	// when the function is entered again.
	Sleep(d time.Duration) error

	// Emit adds an event of type data, committed with the next commit.
	Emit(data any) error
	// Stream shows text to clients as it comes.
	Stream() Stream
	// OnEnd adds a function that runs after the execution has ended, if it ends
	// in this process: a crash loses it.
	OnEnd(fn func(perdure.Status))
}

// Stream shows content to clients while it grows. It does not block: what is
// shown is committed in the background, and all of it before the source's next
// commit.
type Stream interface {
	// Text and Thinking grow the message's text.
	Text(s string)
	Thinking(s string)
	// Terminal grows the output of a command; stream is stdout or stderr.
	Terminal(stream string, p []byte)
	// ToolArguments grows the arguments of a tool call.
	ToolArguments(toolCallID, s string)
	// Break ends the block that grows; the next text begins a new one.
	Break()
	// Data shows an event of type data.
	Data(data any)
	// Error shows an error.
	Error(message string, code perdure.Code)
	// SetPlace says where in the conversation what follows belongs.
	SetPlace(perdure.Place)
}

// Future stands for a task.
type Future struct {
	ID   uuid.UUID
	Kind string
	err  error
}

// FailedFuture is a future of a task that could not be asked for; every wait
// for it gives err.
func FailedFuture(kind string, err error) Future { return Future{Kind: kind, err: err} }

// Err is why the task could not be asked for, if so.
func (f Future) Err() error { return f.err }

// FutureOf stands for a task that was scheduled before, by its id.
func FutureOf(id uuid.UUID, kind string) Future { return Future{ID: id, Kind: kind} }

// Result is how a task stands.
type Result struct {
	Task *perdure.Task // nil while it has not ended
}

// Ended reports whether the task has ended.
func (r Result) Ended() bool { return r.Task != nil && r.Task.Status.Terminal() }

// Err is nil for a task that completed, and says how it ended otherwise.
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

// How says when a wait over futures is met.
type How int

const (
	// All waits for every task to end, whatever the end.
	All How = iota
	// AllOrFailure waits for every task to complete or the first to fail.
	AllOrFailure
	// FirstSuccess waits for the first to complete, or all to fail.
	FirstSuccess
	// First waits for the first end of any kind.
	First
)
