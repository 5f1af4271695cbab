package perdure

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// TaskStatus is the state of a task.
type TaskStatus string

const (
	TaskPending     TaskStatus = "PENDING"
	TaskRunning     TaskStatus = "RUNNING"
	TaskCompleted   TaskStatus = "COMPLETED"
	TaskFailed      TaskStatus = "FAILED"
	TaskInterrupted TaskStatus = "INTERRUPTED"
	TaskCancelled   TaskStatus = "CANCELLED"
)

// Terminal reports whether the status is final.
func (s TaskStatus) Terminal() bool {
	switch s {
	case TaskCompleted, TaskFailed, TaskInterrupted, TaskCancelled:
		return true
	}
	return false
}

// OnLost determines what happens to a task whose worker is lost during an attempt.
type OnLost string

const (
	// OnLostRetry runs the task again. It is for work without side effects.
	OnLostRetry OnLost = "retry"
	// OnLostReport ends the task as INTERRUPTED. Its side effects may or may not have happened, and
	// only the agent that scheduled the task can decide what to do.
	OnLostReport OnLost = "report"
)

// TaskOptions determine how a task is run. A zero value means the default, which Normal fills in.
type TaskOptions struct {
	// Queue is the queue from which workers take the task; default: the execution's queue.
	Queue string `json:"queue,omitempty"`
	// Instance distinguishes tasks of one kind that have equal inputs. Without Instance, such tasks
	// are one task.
	Instance string `json:"instance,omitempty"`
	// Key is an idempotency key that the caller chooses. The task key is computed from this key and
	// not from the input.
	Key string `json:"key,omitempty"`
	// MaxAttempts is the maximum number of attempts, including the first; default 3.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// BackoffBase is the pause after the first failed attempt. The pause doubles with each attempt, up
	// to BackoffMax. Defaults: 1 s and 60 s.
	BackoffBase time.Duration `json:"backoffBase,omitempty"`
	BackoffMax  time.Duration `json:"backoffMax,omitempty"`
	// ScheduleToClose limits the time from scheduling the task to its end, and AttemptTimeout the
	// time of one attempt. HeartbeatTimeout limits the time in which the task's own code calls
	// neither Heartbeat nor Progress; the heartbeats of its worker do not count. 0 means no limit.
	ScheduleToClose  time.Duration `json:"scheduleToClose,omitempty"`
	AttemptTimeout   time.Duration `json:"attemptTimeout,omitempty"`
	HeartbeatTimeout time.Duration `json:"heartbeatTimeout,omitempty"`
	// Priority is from 0 (claimed first) to 9. Normal replaces nil by 5.
	Priority *int `json:"priority,omitempty"`
	// ConcurrencyKey limits concurrency. Of all tasks of the org with the same key, at most
	// ConcurrencyLimit (default 1) have a running attempt.
	ConcurrencyKey   string `json:"concurrencyKey,omitempty"`
	ConcurrencyLimit int    `json:"concurrencyLimit,omitempty"`
	// KeyTTL is how long Key still identifies this task after its end. Once a checkpoint is made after
	// that time, the same Key creates a new task. 0 means that Key identifies this task as long as the
	// execution exists.
	KeyTTL time.Duration `json:"keyTtl,omitempty"`
	// OnLost says what happens if the worker is lost during an attempt; default OnLostRetry.
	OnLost OnLost `json:"onLost,omitempty"`
	// ReadsContext reports that the task reads the model's context. Only workers that support all
	// features that the execution needs can claim such a task.
	ReadsContext bool `json:"readsContext,omitempty"`
	// Compacts is the reason of the compaction if the task writes the summary of a compaction, and
	// "" otherwise. If the execution ends before such a task has ended, the server appends an event
	// that reports the failed compaction.
	Compacts CompactionReason `json:"compacts,omitempty"`
	// Net limits the network access of commands in a tool call, as AgentConfig.Net does. Requires
	// is RequiresConfined if only a worker that confines commands may run the call. Only workers
	// with FeatureQuestions can claim a task with Net or Requires.
	Net      string `json:"net,omitempty"`
	Requires string `json:"requires,omitempty"`
}

const (
	defaultAttempts    = 3
	defaultBackoffBase = time.Second
	defaultBackoffMax  = time.Minute
	defaultPriority    = 5
)

// Normal returns the options with defaults filled in. The default of Queue is the argument `queue`.
func (o TaskOptions) Normal(queue string) TaskOptions {
	if o.Queue == "" {
		o.Queue = queue
	}
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = defaultAttempts
	}
	if o.BackoffBase <= 0 {
		o.BackoffBase = defaultBackoffBase
	}
	if o.BackoffMax <= 0 {
		o.BackoffMax = defaultBackoffMax
	}
	if o.OnLost == "" {
		o.OnLost = OnLostRetry
	}
	if o.ConcurrencyKey != "" && o.ConcurrencyLimit == 0 {
		o.ConcurrencyLimit = 1
	}
	if o.Priority == nil {
		priority := defaultPriority
		o.Priority = &priority
	}
	return o
}

// Backoff returns the pause after the failed attempt with the given number (from 1), before jitter.
func (o TaskOptions) Backoff(attempt int) time.Duration {
	pause := o.BackoffBase
	for range attempt - 1 {
		if pause *= 2; pause >= o.BackoffMax {
			return o.BackoffMax
		}
	}
	return min(pause, o.BackoffMax)
}

// TaskError is the error of a failed attempt, or of a task that has ended without a result.
type TaskError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Permanent reports that the task must not be attempted again.
	Permanent bool `json:"permanent,omitempty"`
	// RetryAfter is the minimum pause before the next attempt. In JSON it is in milliseconds.
	RetryAfter time.Duration `json:"retryAfterMs,omitempty"`
}

// taskErrorJSON is the JSON form of a TaskError. The names of its durations contain their unit.
type taskErrorJSON struct {
	Code         Code   `json:"code"`
	Message      string `json:"message"`
	Permanent    bool   `json:"permanent,omitempty"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (e TaskError) MarshalJSON() ([]byte, error) {
	// Round up, because RetryAfter is a minimum.
	ms := (e.RetryAfter + time.Millisecond - 1) / time.Millisecond
	return json.Marshal(taskErrorJSON{Code: e.Code, Message: e.Message, Permanent: e.Permanent, RetryAfterMs: int64(ms)})
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *TaskError) UnmarshalJSON(raw []byte) error {
	var wire taskErrorJSON
	if err := json.Unmarshal(raw, &wire); err != nil {
		return err
	}
	*e = TaskError{
		Code: wire.Code, Message: wire.Message, Permanent: wire.Permanent,
		RetryAfter: time.Duration(wire.RetryAfterMs) * time.Millisecond,
	}
	return nil
}

func (e *TaskError) Error() string { return string(e.Code) + ": " + e.Message }

// Task is a unit of work of an execution, run by a task worker.
type Task struct {
	ID          uuid.UUID       `json:"id"`
	ExecutionID uuid.UUID       `json:"agentExecutionId"`
	Kind        string          `json:"kind"`
	Status      TaskStatus      `json:"status"`
	Queue       string          `json:"queue"`
	Attempt     int             `json:"attempt"`
	MaxAttempts int             `json:"maxAttempts"`
	Input       json.RawMessage `json:"input"`
	Result      json.RawMessage `json:"result"`
	// InputBytes, InputSHA256, ResultBytes and ResultSHA256 are the length and the hash of input
	// and result. They are for clients that do not receive the contents.
	InputBytes   int64           `json:"inputBytes,omitempty" wire:"-"`
	InputSHA256  string          `json:"inputSha256,omitempty" wire:"-"`
	ResultBytes  int64           `json:"resultBytes,omitempty" wire:"-"`
	ResultSHA256 string          `json:"resultSha256,omitempty" wire:"-"`
	Error        *TaskError      `json:"error"`
	Progress     json.RawMessage `json:"progress,omitempty"`
	WorkerID     *uuid.UUID      `json:"workerId"`
	// NeedsFeatures are the features that a worker must support to run the task.
	NeedsFeatures Features `json:"needsFeatures,omitempty" wire:"-"`
	CreatedAt     Time     `json:"createdAt"`
	StartedAt     *Time    `json:"startedAt"`
	CompletedAt   *Time    `json:"completedAt"`

	Org        string      `json:"-"`
	Key        string      `json:"-"`
	InputHash  Hash        `json:"-"` // of the input's bytes
	Options    TaskOptions `json:"-"`
	ClaimID    uuid.UUID   `json:"-"`
	LeaseUntil Time        `json:"-"`
	// Embedded reports whether the lease belongs to a worker in the process that owns the data
	// directory.
	Embedded bool `json:"-"`
	// Uncounted is the number of attempts that do not count against MaxAttempts. These attempts were
	// released or lost, or belong to an earlier task with the same key. Lost is the number of lost
	// attempts.
	Uncounted int `json:"-"`
	Lost      int `json:"-"`
	// AttemptAt is the time at which the running attempt was claimed. SignAt is the time at which the
	// task's code last showed activity.
	AttemptAt Time `json:"-"`
	SignAt    Time `json:"-"`
	// NotBefore is the earliest time at which a PENDING task may be claimed.
	NotBefore  Time     `json:"-"`
	InputBlob  *BlobRef `json:"-"`
	ResultBlob *BlobRef `json:"-"`
	// Step reports that this is the record of a step. Such a record is created with a terminal status
	// and is never claimed.
	Step bool `json:"step,omitempty"`
	// Instance is the text that distinguishes the task or step from others of its kind. It is a
	// copy for clients: the store has this text in Options.
	Instance string `json:"instance,omitempty" wire:"-"`
	// Place is the position of the task in the conversation.
	Place Place `json:"-"`
}

// Place identifies a position in a conversation: a turn, a response, a message and a tool call.
// Events and blocks that are created at this position contain this Place.
type Place struct {
	ResponseID string `json:"responseId,omitempty"`
	TurnID     string `json:"turnId,omitempty"`
	MessageID  string `json:"messageId,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
}

// Turn returns the number of the turn. It is the number in a TurnID of the form "turn_N", and 0 for any
// other TurnID.
func (p Place) Turn() int {
	n, err := strconv.Atoi(strings.TrimPrefix(p.TurnID, "turn_"))
	if err != nil {
		return 0
	}
	return n
}
