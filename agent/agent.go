// Package agent is the API for the code of agents. An agent is a function with a Context: it
// appends messages, schedules tasks, runs steps, waits for signals and sleeps. The next commit
// makes this work durable. Checkpoint and Flush commit, and so do a step that runs (unless it is
// Lazy), a wait that is not met yet, and the end of the function. After a crash, the function is
// entered again with the committed data.
//
// A blocking call may never return. If the worker discards the goroutine of the function, the
// goroutine ends in the blocking call, as testing.T.FailNow ends the goroutine of a test. The
// function is then entered again from the top, on this worker or another, with the committed data.
// So do not hold a lock or a sync.Once during a blocking call. Deferred functions run at each
// discard. Code that must run at the end of the execution belongs in OnEnd.
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
	// ErrDiscarded is the cause with which a Context ends if the worker has discarded the goroutine of
	// the agent's function.
	ErrDiscarded = errors.New("the goroutine was discarded; its execution is entered again where it is claimed")
	// ErrCancelled is the cause with which a Context ends if its execution is being cancelled.
	ErrCancelled = errors.New("the execution is being cancelled")
	// ErrLeaseLost is the cause with which a Context ends if the worker has lost the lease on the
	// execution.
	ErrLeaseLost = errors.New("the lease on the execution is over")
	// ErrTimeout is returned by WaitSignal, WaitAnySignal and WaitAny if the timeout passes first.
	ErrTimeout = errors.New("no such signal came in time")
)

// Context is the interface between an agent and its execution. It is a context.Context that ends
// when the execution is cancelled, the lease is lost or the goroutine is discarded. context.Cause
// returns the reason.
//
// Only the goroutine in which Run is called may call the methods of Context. The methods that block
// (see their comments) panic in another goroutine. Other goroutines may use the embedded
// context.Context, and a Stream that Run's goroutine has passed to them.
type Context interface {
	context.Context

	// ID returns the id of the execution.
	ID() uuid.UUID
	// Execution returns the execution as it was when the worker claimed it.
	Execution() *perdure.Execution
	// Place returns the current position in the conversation: turn, response and message.
	Place() perdure.Place
	// SetPlace sets the current position in the conversation. Tasks, entries and events that are
	// created after the call belong to this position.
	SetPlace(perdure.Place)
	// SetTurn begins another turn of the same response. Tasks, entries and events that are created
	// after the call belong to this turn, and to no message and no tool call.
	SetTurn(id string)

	// Messages returns the entries of the path, from the root to the leaf. It commits pending
	// entries first, so it blocks. It reads from the server only entries that the worker has not
	// cached.
	Messages() iter.Seq2[perdure.Entry, error]
	// ContextPath returns those entries of the path from which perdure.ContextOf builds what a
	// model sees, in order. They are the entries in the field Pinned of the newest compaction, and
	// the part of the path that begins at the entry that its field KeepFrom names. So the cost of a
	// call does not grow with the length of the conversation. ContextPath may return more entries,
	// up to the whole path; ContextOf builds the same context from them. ContextPath commits
	// pending entries first, so it blocks.
	ContextPath() iter.Seq2[perdure.Entry, error]
	// Tail returns the newest n entries of the path, oldest first. If n is 0, it returns the
	// entries since the newest checkpoint. It commits pending entries first, so it blocks.
	Tail(n int) ([]perdure.Entry, error)
	// PathOf returns the path of another execution in the same org: the entries from the root to
	// the entry `leaf`, in this order.
	PathOf(execution, leaf uuid.UUID) iter.Seq2[perdure.Entry, error]
	// Leaf returns the id of the entry that becomes the parent of the next entry, or nil if there
	// is none.
	Leaf() *uuid.UUID
	// Append adds a message after the leaf and returns its id. The message is stored with the next
	// commit.
	Append(m perdure.Message, opts ...AppendOption) (uuid.UUID, error)

	// Checkpoint commits pending work with a new checkpoint of the state, so it blocks. With the
	// option WithNext, it does not block, and the next commit contains the checkpoint.
	Checkpoint(state any, opts ...CheckpointOption) error
	// State decodes the state of the newest checkpoint into v. It returns false if there is no
	// checkpoint.
	State(v any) (bool, error)
	// StateVersion returns the version of the state in the newest checkpoint, or 0 if there is no
	// checkpoint or its state has no version. Versioned uses it.
	StateVersion() int
	// CheckpointSeq returns the number of the newest checkpoint, or 0 if there is none.
	CheckpointSeq() int64
	// Flush commits pending work. It blocks.
	Flush() error

	// Schedule schedules a task and returns a future of it. The task is stored with the next
	// commit. Tasks of equal kind and input are one task with one result, unless Instance
	// distinguishes them.
	Schedule(kind string, input any, opts ...TaskOption) Future
	// Await waits until the tasks of the futures meet the given condition, such as All, and returns
	// the state of each task. It blocks.
	Await(how JoinMode, futures ...Future) ([]Result, error)
	// Peek returns the state of a task without waiting for its end. It does not commit. The next
	// commit records the returned state, and the same call returns the recorded state when the
	// function is entered again. Peek panics if another goroutine than Run's calls it.
	Peek(f Future) (Result, error)
	// CancelTask cancels a task of this execution, with the next commit.
	CancelTask(f Future)
	// StopTask cancels a task of this execution, with the next commit. The text that the task has
	// streamed to clients is kept, and StreamedText then returns it.
	StopTask(f Future)
	// StreamedText returns the text that the newest attempt of an ended task has streamed, at most
	// 1 MiB of it. It leaves out superseded blocks, and text that is no longer in the log. It reads
	// from the server, so it blocks.
	StreamedText(f Future) (string, error)

	// RunStep runs fn in this process, and records its result or error before it returns. When the
	// agent is entered again, RunStep returns the recorded result or error. If the worker dies
	// after fn has returned and before the result is recorded, fn runs a second time. RunStep blocks.
	RunStep(name string, fn func(context.Context) (json.RawMessage, error), opts ...StepOption) (json.RawMessage, error)

	// OpenQuestion asks a question and does not wait for its answer. The question is stored with
	// the next commit. Until the agent's function is entered again, each combination of Name and
	// Instance may be asked only once. For a second question with the same combination,
	// QuestionRef.Err returns question_key_reused.
	OpenQuestion(q Question) QuestionRef
	// AwaitQuestion waits until the question has an answer, has expired or is withdrawn. It returns
	// the question with its kind, subject, status and answer. It blocks. Errors: a.Err() if the
	// question could not be asked, and the errors of Ask except ErrExpired and ErrWithdrawn.
	AwaitQuestion(a QuestionRef) (perdure.Question, error)
	// Ask asks a question and waits for its answer. A denial is an answer. It blocks. Errors:
	// ErrExpired, ErrWithdrawn, question_key_reused, idempotency_key_reused (the name was used for
	// another question).
	Ask(q Question) (perdure.Answer, error)
	// WithdrawQuestion withdraws a question with the next commit. A question that already has an
	// answer does not change.
	WithdrawQuestion(a QuestionRef)

	// WaitSignal waits for a signal whose name matches the pattern, and takes it. If a positive
	// `timeout` passes first, it returns ErrTimeout. It blocks.
	WaitSignal(pattern string, timeout time.Duration) (perdure.Signal, error)
	// WaitAnySignal waits for a signal whose name matches one of the patterns, and takes it. If
	// several match, it takes the one that was sent first. If a positive `timeout` passes first, it
	// returns ErrTimeout. It blocks.
	WaitAnySignal(timeout time.Duration, patterns ...string) (perdure.Signal, error)
	// WaitAny waits until one of the conditions is met. If several are met, it returns the first in
	// the list. If a positive `timeout` passes first, it returns ErrTimeout. It blocks.
	WaitAny(timeout time.Duration, conditions ...Condition) (WaitResult, error)
	// DrainSignals takes all pending signals whose names match the pattern, in the order in which
	// they were sent. If the function is entered again, DrainSignals first returns the signals that
	// it has taken since the newest checkpoint.
	DrainSignals(pattern string) ([]perdure.Signal, error)
	// HasSignal reports whether a signal whose name matches the pattern is pending.
	HasSignal(pattern string) (bool, error)

	// Sleep blocks for the duration d. If the agent's function is entered again meanwhile, d still
	// counts from the first call of Sleep.
	Sleep(d time.Duration) error

	// Emit adds an event of the type perdure.EventData, with the content `data`, to the next commit.
	Emit(data any) error
	// Stream returns the stream for content that clients read while it grows.
	Stream() Stream
	// OnEnd registers a function that is called when the execution has ended, if it ends in this
	// process. If the process dies before that, the function is not called.
	OnEnd(fn func(perdure.Status))
}

// Stream sends content to clients while it grows. The content is stored in the background. All of
// it is stored before the next commit of the execution or, if a task streams it, before the end of
// the task's attempt. Any goroutine may call the methods of a Stream. Methods that add text wait
// while too much earlier text is still unsent.
type Stream interface {
	// Text and Thinking append to the text and the thinking of the current message.
	Text(s string)
	Thinking(s string)
	// Terminal appends to the output of a command. The argument `stream` is "stdout" or "stderr".
	Terminal(stream string, p []byte)
	// ToolArguments appends to the arguments of a tool call.
	ToolArguments(toolCallID, s string)
	// Break ends the current block. Text that follows begins a new block.
	Break()
	// Data sends an event of the type perdure.EventData with the content `data`.
	Data(data any)
	// Error sends an event of the type perdure.EventError.
	Error(message string, code perdure.Code)
	// SetPlace sets the position in the conversation. Content that is sent after the call belongs
	// to this position.
	SetPlace(perdure.Place)
}

// Future refers to a scheduled task.
type Future struct {
	ID   uuid.UUID
	Kind string
	err  error
}

// FailedFuture returns a future for a task that could not be scheduled. Every wait for it returns the
// error err.
func FailedFuture(kind string, err error) Future { return Future{Kind: kind, err: err} }

// Err returns the reason why the task could not be scheduled, or nil if the task was scheduled.
func (f Future) Err() error { return f.err }

// FutureOf returns a future for the scheduled task with this id.
func FutureOf(id uuid.UUID, kind string) Future { return Future{ID: id, Kind: kind} }

// Result is the state of a task.
type Result struct {
	Task *perdure.Task // nil until the task has ended
}

// Ended reports whether the task has ended.
func (r Result) Ended() bool { return r.Task != nil && r.Task.Status.Terminal() }

// Err returns nil for a completed task. For any other task it returns an error, which says how the task
// ended or that it has not ended.
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

// JoinMode says when a wait for several futures ends.
type JoinMode int

const (
	// All ends the wait when every task has ended in any way.
	All JoinMode = iota
	// AllOrFailure ends the wait when every task has completed, or when one has failed.
	AllOrFailure
	// FirstSuccess ends the wait when one task has completed, or when all have failed.
	FirstSuccess
	// First ends the wait when one task has ended in any way.
	First
)
