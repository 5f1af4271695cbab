package agent

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// AppendOption changes how a message is appended.
type AppendOption func(*perdure.Entry)

// WithKey makes the append idempotent: a key that the execution knows stands
// for the entry that is stored under it.
func WithKey(key string) AppendOption { return func(e *perdure.Entry) { e.Key = key } }

// WithEntryID returns the entry an id that was made (at random) and stored before.
func WithEntryID(id uuid.UUID) AppendOption { return func(e *perdure.Entry) { e.ID = id } }

// WithPlace says which turn and response the entry belongs to.
func WithPlace(p perdure.Place) AppendOption {
	return func(e *perdure.Entry) {
		e.TurnID, e.ResponseID, e.MessageID = p.TurnID, p.ResponseID, p.MessageID
	}
}

// AsRecord makes the entry an llm_call: it hangs off the path, on the leaf, and
// metadata is its record.
func AsRecord(metadata []byte) AppendOption {
	return func(e *perdure.Entry) {
		e.Type, e.Role, e.Metadata = perdure.EntryLLMCall, "", metadata
	}
}

// CheckpointOption changes how a checkpoint is made.
type CheckpointOption func(*CheckpointSettings)

// CheckpointSettings is what CheckpointOptions set.
type CheckpointSettings struct {
	Reason   string
	WithNext bool
	Version  int
}

// Reason says why the checkpoint is made; it is in its metadata.
func Reason(why string) CheckpointOption { return func(s *CheckpointSettings) { s.Reason = why } }

// WithNext puts the checkpoint into the next commit instead of one of its own.
func WithNext() CheckpointOption { return func(s *CheckpointSettings) { s.WithNext = true } }

// StateVersion notes the version of the state in the checkpoint's metadata.
// Versioned.Save does it.
func StateVersion(n int) CheckpointOption { return func(s *CheckpointSettings) { s.Version = n } }

// TaskOption changes how a task is run.
type TaskOption func(*TaskSettings)

// TaskSettings is what TaskOptions set.
type TaskSettings struct {
	perdure.TaskOptions
	Place perdure.Place
}

// Instance tells apart tasks, or steps, of one kind with equal input.
func Instance(name string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Instance = name } }

// Key is the caller's own idempotency key, in place of the input's hash.
func Key(key string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Key = key } }

// Queue sends the task to another queue than the execution's.
func Queue(name string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Queue = name } }

// Attempts bounds the tries, the first included.
func Attempts(n int) TaskOption { return func(s *TaskSettings) { s.MaxAttempts = n } }

// Backoff sets the first pause between tries, which doubles, and the longest.
func Backoff(base, most time.Duration) TaskOption {
	return func(s *TaskSettings) { s.BackoffBase, s.BackoffMax = base, most }
}

// Timeout bounds one try.
func Timeout(d time.Duration) TaskOption { return func(s *TaskSettings) { s.AttemptTimeout = d } }

// Deadline bounds the whole task, from its scheduling.
func Deadline(d time.Duration) TaskOption { return func(s *TaskSettings) { s.ScheduleToClose = d } }

// OnLost says what happens when the worker is lost in the middle of a try: retry, the
// default, runs the task again, report ends it as INTERRUPTED.
func OnLost(what perdure.OnLost) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.OnLost = what }
}

// HeartbeatTimeout bounds the time without a sign from the task's code, which is
// a call of TaskContext.Progress or Heartbeat; after it the try has failed with
// timeout. Without it a task may be silent for as long as it likes.
func HeartbeatTimeout(d time.Duration) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.HeartbeatTimeout = d }
}

// Priority is 0 (first) to 9; tasks have 5 without it. Of one priority the
// oldest goes first.
func Priority(n int) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Priority = &n } }

// ConcurrencyKey lets at most limit tasks with an equal key run at once, over
// all executions of the org.
func ConcurrencyKey(key string, limit int) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.ConcurrencyKey, s.ConcurrencyLimit = key, limit }
}

// KeyTTL is how long after the task's end its Key stands for it. A task that is
// asked for under the key after a checkpoint made later than that is a new one.
func KeyTTL(d time.Duration) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.KeyTTL = d }
}

// At says where in the conversation the task belongs.
func At(p perdure.Place) TaskOption { return func(s *TaskSettings) { s.Place = p } }

// StepOption changes how a step is run.
type StepOption func(*StepSettings)

// StepSettings is what StepOptions set.
type StepSettings struct {
	Instance string
	Lazy     bool
}

// StepInstance tells apart steps of one name.
func StepInstance(name string) StepOption { return func(s *StepSettings) { s.Instance = name } }

// Lazy lets the step's record go with the next commit: after a crash before it
// the step runs again.
func Lazy() StepOption { return func(s *StepSettings) { s.Lazy = true } }
