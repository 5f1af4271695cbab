package agent

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// AppendOption is an option of Append.
type AppendOption func(*perdure.Entry)

// WithKey sets the idempotency key of the append. If the execution has an entry with the key,
// Append returns that entry and stores no other.
func WithKey(key string) AppendOption { return func(e *perdure.Entry) { e.Key = key } }

// WithEntryID sets the id of the entry to a random id that was generated and stored before.
func WithEntryID(id uuid.UUID) AppendOption { return func(e *perdure.Entry) { e.ID = id } }

// WithPlace sets the turn and the response of the entry.
func WithPlace(p perdure.Place) AppendOption {
	return func(e *perdure.Entry) {
		e.TurnID, e.ResponseID, e.MessageID = p.TurnID, p.ResponseID, p.MessageID
	}
}

// AsRecord sets the type of the entry to llm_call, with the record in metadata. Its parent is the
// leaf, but it is not on the path.
func AsRecord(metadata []byte) AppendOption {
	return func(e *perdure.Entry) {
		e.Type, e.Role, e.Metadata = perdure.EntryLLMCall, "", metadata
	}
}

// CheckpointOption is an option of Checkpoint.
type CheckpointOption func(*CheckpointSettings)

// CheckpointSettings are the settings that CheckpointOptions set.
type CheckpointSettings struct {
	Reason   string
	WithNext bool
	Version  int
}

// Reason sets the reason of the checkpoint, which its metadata holds.
func Reason(why string) CheckpointOption { return func(s *CheckpointSettings) { s.Reason = why } }

// WithNext adds the checkpoint to the next commit instead of committing at once.
func WithNext() CheckpointOption { return func(s *CheckpointSettings) { s.WithNext = true } }

// StateVersion sets the version of the state in the checkpoint's metadata. Versioned.Save uses it.
func StateVersion(n int) CheckpointOption { return func(s *CheckpointSettings) { s.Version = n } }

// TaskOption is an option of a task.
type TaskOption func(*TaskSettings)

// TaskSettings are the settings that TaskOptions set.
type TaskSettings struct {
	perdure.TaskOptions
	Place perdure.Place
}

// Instance distinguishes tasks of one kind with equal input.
func Instance(name string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Instance = name } }

// Key sets the caller's own idempotency key. It replaces the hash of the input.
func Key(key string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Key = key } }

// Queue sets the queue of the task; default: the execution's queue.
func Queue(name string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Queue = name } }

// Attempts sets the maximum number of tries, including the first.
func Attempts(n int) TaskOption { return func(s *TaskSettings) { s.MaxAttempts = n } }

// Backoff sets the pause after the first failed try, which doubles after each try, and the longest
// pause.
func Backoff(base, most time.Duration) TaskOption {
	return func(s *TaskSettings) { s.BackoffBase, s.BackoffMax = base, most }
}

// Timeout sets the maximum time of one attempt.
func Timeout(d time.Duration) TaskOption { return func(s *TaskSettings) { s.AttemptTimeout = d } }

// Deadline sets the maximum time of the whole task, from its scheduling.
func Deadline(d time.Duration) TaskOption { return func(s *TaskSettings) { s.ScheduleToClose = d } }

// OnLost sets what happens if the worker is lost during an attempt: retry, the default, runs the
// task again; report ends it as INTERRUPTED.
func OnLost(what perdure.OnLost) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.OnLost = what }
}

// HeartbeatTimeout sets the maximum time between calls of TaskContext.Progress or Heartbeat. After
// it the attempt fails with timeout. Without this option there is no such limit.
func HeartbeatTimeout(d time.Duration) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.HeartbeatTimeout = d }
}

// Priority sets the priority from 0 (first) to 9; default 5. Among tasks of equal priority, the
// oldest is first.
func Priority(n int) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Priority = &n } }

// ConcurrencyKey limits how many tasks with an equal key run at once, over all executions of the
// org.
func ConcurrencyKey(key string, limit int) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.ConcurrencyKey, s.ConcurrencyLimit = key, limit }
}

// KeyTTL sets how long after the task's end its Key refers to it. If a checkpoint is created later
// than that, the next task under the key is a new one.
func KeyTTL(d time.Duration) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.KeyTTL = d }
}

// At sets the position of the task in the conversation.
func At(p perdure.Place) TaskOption { return func(s *TaskSettings) { s.Place = p } }

// StepOption is an option of a step.
type StepOption func(*StepSettings)

// StepSettings are the settings that StepOptions set.
type StepSettings struct {
	Instance string
	Lazy     bool
}

// StepInstance distinguishes steps of one name.
func StepInstance(name string) StepOption { return func(s *StepSettings) { s.Instance = name } }

// Lazy adds the step's record to the next commit. After a crash before that commit, the step runs
// again.
func Lazy() StepOption { return func(s *StepSettings) { s.Lazy = true } }
