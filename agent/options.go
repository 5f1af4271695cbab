package agent

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// AppendOption is an option of Context.Append.
type AppendOption func(*perdure.Entry)

// WithKey sets the idempotency key of the append. If the execution already has an entry with this key,
// Append returns the id of that entry and stores no second one.
func WithKey(key string) AppendOption { return func(e *perdure.Entry) { e.Key = key } }

// WithEntryID sets the id of the entry. It must be a random id that the agent has generated, and
// stored in its state.
func WithEntryID(id uuid.UUID) AppendOption { return func(e *perdure.Entry) { e.ID = id } }

// WithPlace sets the turn, the response and the message of the entry.
func WithPlace(p perdure.Place) AppendOption {
	return func(e *perdure.Entry) {
		e.TurnID, e.ResponseID, e.MessageID = p.TurnID, p.ResponseID, p.MessageID
	}
}

// AsRecord sets the type of the entry to llm_call, which records a model call. The record is the
// argument `metadata`. The entry's parent is the leaf, but the entry is not on the path, so models
// do not see it.
func AsRecord(metadata []byte) AppendOption {
	return func(e *perdure.Entry) {
		e.Type, e.Role, e.Metadata = perdure.EntryLLMCall, "", metadata
	}
}

// AsCompaction sets the type of the entry to compaction. The message must be a user's message with
// one part, perdure.Compaction. The record names the entries that the compaction covers. Models see
// the compaction instead of these entries.
func AsCompaction(record perdure.CompactionRecord) AppendOption {
	return func(e *perdure.Entry) {
		metadata, err := json.Marshal(record)
		if err != nil {
			panic("agent: a compaction's record does not encode: " + err.Error()) // unreachable: plain data
		}
		e.Type, e.Metadata = perdure.EntryCompaction, metadata
		e.TurnID, e.ResponseID, e.MessageID = "", "", "" // a compaction belongs to no response
	}
}

// CheckpointOption is an option of Context.Checkpoint.
type CheckpointOption func(*CheckpointSettings)

// CheckpointSettings contains the values that CheckpointOptions set.
type CheckpointSettings struct {
	Reason   string
	WithNext bool
	Version  int
}

// Reason sets the reason of the checkpoint, which is stored in the checkpoint's metadata.
func Reason(why string) CheckpointOption { return func(s *CheckpointSettings) { s.Reason = why } }

// WithNext delays the checkpoint: Checkpoint does not commit, and the next commit contains the
// checkpoint.
func WithNext() CheckpointOption { return func(s *CheckpointSettings) { s.WithNext = true } }

// StateVersion sets the version of the state, which is stored in the checkpoint's metadata.
// Versioned.Save uses it.
func StateVersion(n int) CheckpointOption { return func(s *CheckpointSettings) { s.Version = n } }

// TaskOption is an option of a scheduled task.
type TaskOption func(*TaskSettings)

// TaskSettings contains the values that TaskOptions set.
type TaskSettings struct {
	perdure.TaskOptions
	Place perdure.Place
	// Clearance is the reason why the task may run. It is needed if the execution's approval
	// policies guard the task's kind.
	Clearance *perdure.Clearance
}

// Instance sets a text that distinguishes the task from tasks of the same kind with equal input.
func Instance(name string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Instance = name } }

// Key sets the idempotency key of the task. It replaces the hash of the input: tasks of one kind that
// have the same key are one task.
func Key(key string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Key = key } }

// Queue sets the queue of the task. Default: the execution's queue.
func Queue(name string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Queue = name } }

// Attempts sets the maximum number of attempts, including the first.
func Attempts(n int) TaskOption { return func(s *TaskSettings) { s.MaxAttempts = n } }

// Backoff sets the pause after the first failed attempt, and the maximum pause. The pause doubles after
// each further attempt.
func Backoff(base, most time.Duration) TaskOption {
	return func(s *TaskSettings) { s.BackoffBase, s.BackoffMax = base, most }
}

// Timeout sets the maximum time of one attempt. An attempt that takes longer fails with code timeout.
func Timeout(d time.Duration) TaskOption { return func(s *TaskSettings) { s.AttemptTimeout = d } }

// Deadline sets the maximum time from scheduling the task to its end, with all attempts.
func Deadline(d time.Duration) TaskOption { return func(s *TaskSettings) { s.ScheduleToClose = d } }

// OnLost sets what happens if the worker is lost during an attempt. With perdure.OnLostRetry, the
// default, the task runs again. With perdure.OnLostReport, it ends as INTERRUPTED.
func OnLost(what perdure.OnLost) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.OnLost = what }
}

// HeartbeatTimeout sets the maximum time between calls of TaskContext.Progress or
// TaskContext.Heartbeat. If it is exceeded, the attempt fails with code timeout. Default: no limit.
func HeartbeatTimeout(d time.Duration) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.HeartbeatTimeout = d }
}

// Priority sets the priority of the task, from 0 (claimed first) to 9; default 5. Among tasks of equal
// priority, the oldest is claimed first.
func Priority(n int) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Priority = &n } }

// ConcurrencyKey limits how many tasks with this key run at the same time, in all executions of the org
// together.
func ConcurrencyKey(key string, limit int) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.ConcurrencyKey, s.ConcurrencyLimit = key, limit }
}

// WithClearance sets the reason why the task may run although the execution's policies guard its kind.
func WithClearance(c perdure.Clearance) TaskOption {
	return func(s *TaskSettings) { s.Clearance = &c }
}

// Confined limits the commands of a tool call. `net` limits their network access, as
// perdure.AgentConfig.Net does. `requires` is perdure.RequiresConfined if only a worker that
// confines commands may run them, and "" otherwise; the task's definition must then have Confines.
func Confined(net, requires string) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.Net, s.TaskOptions.Requires = net, requires }
}

// KeyTTL sets how long the task's Key identifies this task after the task has ended. If a
// checkpoint is created after that time, the next task with the key is a new task.
func KeyTTL(d time.Duration) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.KeyTTL = d }
}

// Compacts marks a task that writes the summary of a compaction, and sets the reason of the
// compaction. If the execution ends before the task, the server appends an event that reports the
// failed compaction.
func Compacts(reason perdure.CompactionReason) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.Compacts = reason }
}

// ReadsContext marks a task that calls TaskContext.ContextPath. After the first compaction, only
// workers that support compactions get the task.
func ReadsContext() TaskOption { return func(s *TaskSettings) { s.TaskOptions.ReadsContext = true } }

// At sets the position in the conversation to which the task belongs.
func At(p perdure.Place) TaskOption { return func(s *TaskSettings) { s.Place = p } }

// StepOption is an option of a step.
type StepOption func(*StepSettings)

// StepSettings contains the values that StepOptions set.
type StepSettings struct {
	Instance string
	Lazy     bool
}

// StepInstance sets a text that distinguishes the step from steps with the same name.
func StepInstance(name string) StepOption { return func(s *StepSettings) { s.Instance = name } }

// Lazy delays storing the step's record until the next commit. After a crash before that commit, the
// step runs again.
func Lazy() StepOption { return func(s *StepSettings) { s.Lazy = true } }
