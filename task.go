package perdure

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// TaskStatus is where a task stands.
type TaskStatus string

const (
	TaskPending     TaskStatus = "PENDING"
	TaskRunning     TaskStatus = "RUNNING"
	TaskCompleted   TaskStatus = "COMPLETED"
	TaskFailed      TaskStatus = "FAILED"
	TaskInterrupted TaskStatus = "INTERRUPTED"
	TaskCancelled   TaskStatus = "CANCELLED"
)

// Terminal reports whether the status never changes again.
func (s TaskStatus) Terminal() bool {
	switch s {
	case TaskCompleted, TaskFailed, TaskInterrupted, TaskCancelled:
		return true
	}
	return false
}

// OnLost says what happens to a task whose worker is lost in the middle of an
// attempt.
type OnLost string

const (
	// OnLostRetry runs it again: for work that changes nothing outside.
	OnLostRetry OnLost = "retry"
	// OnLostReport ends it as INTERRUPTED: it may have taken effect, and only
	// the one who asked can tell what to do.
	OnLostReport OnLost = "report"
)

// TaskOptions say how a task is run. Zero values stand for the defaults, which
// Normal fills in.
type TaskOptions struct {
	// Queue routes the task; default: the execution's queue.
	Queue string `json:"queue,omitempty"`
	// Instance tells apart tasks of one kind with equal input.
	Instance string `json:"instance,omitempty"`
	// Key is the caller's own idempotency key, in place of the input's hash.
	Key string `json:"key,omitempty"`
	// MaxAttempts counts the tries, the first included; default 3.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// BackoffBase doubles from try to try up to BackoffMax; defaults 1 s, 60 s.
	BackoffBase time.Duration `json:"backoffBase,omitempty"`
	BackoffMax  time.Duration `json:"backoffMax,omitempty"`
	// ScheduleToClose bounds the whole task, AttemptTimeout one try,
	// HeartbeatTimeout the time without a sign from the task's own code (that its
	// worker lives is none); 0 means no bound.
	ScheduleToClose  time.Duration `json:"scheduleToClose,omitempty"`
	AttemptTimeout   time.Duration `json:"attemptTimeout,omitempty"`
	HeartbeatTimeout time.Duration `json:"heartbeatTimeout,omitempty"`
	// Priority is 0 (first) to 9; default 5 by NormalPriority.
	Priority *int `json:"priority,omitempty"`
	// ConcurrencyKey bounds what runs at once: of the org's tasks with an equal
	// key at most ConcurrencyLimit (default 1) have an attempt that runs.
	ConcurrencyKey   string `json:"concurrencyKey,omitempty"`
	ConcurrencyLimit int    `json:"concurrencyLimit,omitempty"`
	// KeyTTL is how long after the task's end its Key stands for it, as of the
	// newest checkpoint; 0 is as long as the execution lives.
	KeyTTL time.Duration `json:"keyTtl,omitempty"`
	// OnLost defaults to OnLostRetry.
	OnLost OnLost `json:"onLost,omitempty"`
}

const (
	defaultAttempts    = 3
	defaultBackoffBase = time.Second
	defaultBackoffMax  = time.Minute
	defaultPriority    = 5
)

// Normal returns the options with defaults filled in.
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

// Backoff is the pause after the given failed attempt (from 1), before jitter.
func (o TaskOptions) Backoff(attempt int) time.Duration {
	pause := o.BackoffBase
	for range attempt - 1 {
		if pause *= 2; pause >= o.BackoffMax {
			return o.BackoffMax
		}
	}
	return min(pause, o.BackoffMax)
}

// TaskError is how a task that did not complete ended, or an attempt failed.
type TaskError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Permanent asks for no further attempt.
	Permanent bool `json:"permanent,omitempty"`
	// RetryAfter is the least pause before the next attempt; in JSON it is in
	// milliseconds, which MarshalJSON and UnmarshalJSON see to.
	RetryAfter time.Duration `json:"retryAfterMs,omitempty"`
}

// taskErrorJSON is the wire form: durations there say their unit.
type taskErrorJSON struct {
	Code         Code   `json:"code"`
	Message      string `json:"message"`
	Permanent    bool   `json:"permanent,omitempty"`
	RetryAfterMs int64  `json:"retryAfterMs,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (e TaskError) MarshalJSON() ([]byte, error) {
	// Rounded up: the pause is the least one.
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
	// InputBytes and those below it are shown to clients where input or result
	// are not.
	InputBytes   int64           `json:"inputBytes,omitempty" wire:"-"`
	InputSHA256  string          `json:"inputSha256,omitempty" wire:"-"`
	ResultBytes  int64           `json:"resultBytes,omitempty" wire:"-"`
	ResultSHA256 string          `json:"resultSha256,omitempty" wire:"-"`
	Error        *TaskError      `json:"error"`
	Progress     json.RawMessage `json:"progress,omitempty"`
	WorkerID     *uuid.UUID      `json:"workerId"`
	CreatedAt    Time            `json:"createdAt"`
	StartedAt    *Time           `json:"startedAt"`
	CompletedAt  *Time           `json:"completedAt"`

	Org        string      `json:"-"`
	Key        string      `json:"-"`
	InputHash  Hash        `json:"-"` // of the raw input bytes
	Options    TaskOptions `json:"-"`
	ClaimID    uuid.UUID   `json:"-"`
	LeaseUntil Time        `json:"-"`
	// Embedded marks a lease of a worker inside the process that owns the data
	// directory.
	Embedded bool `json:"-"`
	// Uncounted is how many of the attempts do not count as tries: given back,
	// lost, or of an earlier task under the same key. Lost is how many were lost.
	Uncounted int `json:"-"`
	Lost      int `json:"-"`
	// AttemptAt is when the attempt that runs was claimed, SignAt when its code
	// last gave a sign of itself.
	AttemptAt Time `json:"-"`
	SignAt    Time `json:"-"`
	// NotBefore is when a task that is PENDING may be claimed.
	NotBefore  Time     `json:"-"`
	InputBlob  *BlobRef `json:"-"`
	ResultBlob *BlobRef `json:"-"`
	// Step marks a step's record: made ended, never claimed.
	Step bool `json:"step,omitempty"`
	// ToolCallID, TurnID and ResponseID place the task in the conversation.
	Place Place `json:"-"`
}

// Place says where in a conversation something happens; it is on the events
// and blocks that come of it.
type Place struct {
	ResponseID string `json:"responseId,omitempty"`
	TurnID     string `json:"turnId,omitempty"`
	MessageID  string `json:"messageId,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
}
