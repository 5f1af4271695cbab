package agent

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// AppendOption is an option of Append.
type AppendOption func(*perdure.Entry)

// WithKey sets the idempotency key of the append. If the execution has an entry with this key,
// Append returns the id of that entry and stores no other one.
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

// AsRecord sets the type of the entry to llm_call, a record about a model call. The record is in
// metadata. The entry's parent is the leaf, but the entry is not on the path, so models do not see
// it.
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
			panic("agent: a compaction's record does not encode: " + err.Error()) // it has only ids, texts and numbers
		}
		e.Type, e.Metadata = perdure.EntryCompaction, metadata
		e.TurnID, e.ResponseID, e.MessageID = "", "", "" // it belongs to no response
	}
}

// CheckpointOption is an option of Checkpoint.
type CheckpointOption func(*CheckpointSettings)

// CheckpointSettings contains what CheckpointOptions set.
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

// TaskOption is an option of a task.
type TaskOption func(*TaskSettings)

// TaskSettings contains what TaskOptions set.
type TaskSettings struct {
	perdure.TaskOptions
	Place perdure.Place
	// Clearance is why the task may run, if the gate of the execution guards its kind.
	Clearance *perdure.Clearance
}

// Instance distinguishes a task from tasks of the same kind with equal input.
func Instance(name string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Instance = name } }

// Key sets the idempotency key of the task. It replaces the hash of the input: tasks of one kind
// with this key are one task.
func Key(key string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Key = key } }

// Queue sets the queue of the task. Default: the execution's queue.
func Queue(name string) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Queue = name } }

// Attempts sets the maximum number of attempts, including the first.
func Attempts(n int) TaskOption { return func(s *TaskSettings) { s.MaxAttempts = n } }

// Backoff sets the pause after the first failed attempt, which doubles after each further one, and
// the maximum pause.
func Backoff(base, most time.Duration) TaskOption {
	return func(s *TaskSettings) { s.BackoffBase, s.BackoffMax = base, most }
}

// Timeout sets the maximum time of one attempt. After it, the attempt fails with timeout.
func Timeout(d time.Duration) TaskOption { return func(s *TaskSettings) { s.AttemptTimeout = d } }

// Deadline sets the maximum time of the whole task with all attempts, from when it is scheduled.
func Deadline(d time.Duration) TaskOption { return func(s *TaskSettings) { s.ScheduleToClose = d } }

// OnLost sets what happens if the worker is lost during an attempt. With retry, the default, the
// task runs again. With report, it ends as INTERRUPTED.
func OnLost(what perdure.OnLost) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.OnLost = what }
}

// HeartbeatTimeout sets the maximum time between calls of TaskContext.Progress or
// TaskContext.Heartbeat. After it, the attempt fails with timeout. Default: no limit.
func HeartbeatTimeout(d time.Duration) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.HeartbeatTimeout = d }
}

// Priority sets the priority, from 0 (first) to 9; default 5. Among tasks of equal priority, the
// oldest is first.
func Priority(n int) TaskOption { return func(s *TaskSettings) { s.TaskOptions.Priority = &n } }

// ConcurrencyKey limits how many tasks with an equal key run at the same time, in all executions of
// the org.
func ConcurrencyKey(key string, limit int) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.ConcurrencyKey, s.ConcurrencyLimit = key, limit }
}

// WithClearance sets why a tool call may run whose kind the policies of the execution guard.
func WithClearance(c perdure.Clearance) TaskOption {
	return func(s *TaskSettings) { s.Clearance = &c }
}

// Confined sets what the commands of a tool call may do: net is the network limit, and requires is
// perdure.RequiresConfined if only a worker that confines commands may run them.
func Confined(net, requires string) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.Net, s.TaskOptions.Requires = net, requires }
}

// KeyTTL sets how long the task's Key refers to this task after its end. If a checkpoint is created
// after that time, the next task with the key is a new one.
func KeyTTL(d time.Duration) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.KeyTTL = d }
}

// Compacts marks a task that writes the summary of a compaction, with the reason of the compaction. If
// the execution ends before the task, the log says that the compaction failed.
func Compacts(reason perdure.CompactionReason) TaskOption {
	return func(s *TaskSettings) { s.TaskOptions.Compacts = reason }
}

// ReadsContext marks a task that calls TaskContext.ContextPath. After a compaction, only workers that
// know compactions get it.
func ReadsContext() TaskOption { return func(s *TaskSettings) { s.TaskOptions.ReadsContext = true } }

// At sets the turn, response, message and tool call of the task.
func At(p perdure.Place) TaskOption { return func(s *TaskSettings) { s.Place = p } }

// StepOption is an option of a step.
type StepOption func(*StepSettings)

// StepSettings contains what StepOptions set.
type StepSettings struct {
	Instance string
	Lazy     bool
}

// StepInstance distinguishes a step from steps of the same name.
func StepInstance(name string) StepOption { return func(s *StepSettings) { s.Instance = name } }

// Lazy stores the step's record with the next commit, instead of at once. After a crash before that
// commit, the step runs again.
func Lazy() StepOption { return func(s *StepSettings) { s.Lazy = true } }
