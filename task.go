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
	// OnLostRetry runs the task again. It is for work without effects outside.
	OnLostRetry OnLost = "retry"
	// OnLostReport ends the task as INTERRUPTED. The task may have taken effect, and only its
	// caller can decide what to do.
	OnLostReport OnLost = "report"
)

// TaskOptions determine how a task is run. Zero values mean the defaults, which Normal fills in.
type TaskOptions struct {
	// Queue routes the task; default: the execution's queue.
	Queue string `json:"queue,omitempty"`
	// Instance distinguishes tasks of one kind with equal input.
	Instance string `json:"instance,omitempty"`
	// Key is the caller's own idempotency key. It replaces the hash of the input.
	Key string `json:"key,omitempty"`
	// MaxAttempts is the maximum number of tries, including the first; default 3.
	MaxAttempts int `json:"maxAttempts,omitempty"`
	// BackoffBase is the pause after the first failed try. It doubles after each try, up to
	// BackoffMax. Defaults: 1 s and 60 s.
	BackoffBase time.Duration `json:"backoffBase,omitempty"`
	BackoffMax  time.Duration `json:"backoffMax,omitempty"`
	// ScheduleToClose limits the time of the whole task, AttemptTimeout that of one attempt.
	// HeartbeatTimeout limits the time without activity of the task's own code; the heartbeats of
	// its worker do not count. 0 means no limit.
	ScheduleToClose  time.Duration `json:"scheduleToClose,omitempty"`
	AttemptTimeout   time.Duration `json:"attemptTimeout,omitempty"`
	HeartbeatTimeout time.Duration `json:"heartbeatTimeout,omitempty"`
	// Priority is 0 (first) to 9. Normal sets a nil Priority to 5.
	Priority *int `json:"priority,omitempty"`
	// ConcurrencyKey limits concurrency. Of the org's tasks with an equal key, at most
	// ConcurrencyLimit (default 1) have a running attempt.
	ConcurrencyKey   string `json:"concurrencyKey,omitempty"`
	ConcurrencyLimit int    `json:"concurrencyLimit,omitempty"`
	// KeyTTL is the time from the task's end after which Key can be used for a new task. It must
	// have passed at the newest checkpoint. 0 means that Key names this task as long as the
	// execution exists.
	KeyTTL time.Duration `json:"keyTtl,omitempty"`
	// OnLost is OnLostRetry by default.
	OnLost OnLost `json:"onLost,omitempty"`
	// ReadsContext reports that the task reads the model's context. Only a worker with the features
	// that the execution needs gets it.
	ReadsContext bool `json:"readsContext,omitempty"`
	// Compacts is set on a task that writes the summary of a compaction. If the execution ends before
	// the task, the server appends the event that the compaction failed.
	Compacts CompactionReason `json:"compacts,omitempty"`
	// Net limits the network of the commands of a tool call, as AgentConfig.Net does. Requires is
	// RequiresConfined if only a worker that confines commands may run them. Only workers with
	// FeatureQuestions get a task with one of them.
	Net      string `json:"net,omitempty"`
	Requires string `json:"requires,omitempty"`
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

// Backoff returns the pause after the given failed attempt (from 1), before jitter.
func (o TaskOptions) Backoff(attempt int) time.Duration {
	pause := o.BackoffBase
	for range attempt - 1 {
		if pause *= 2; pause >= o.BackoffMax {
			return o.BackoffMax
		}
	}
	return min(pause, o.BackoffMax)
}

// TaskError is the error of a task that did not complete, or of a failed attempt.
type TaskError struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Permanent prevents further attempts.
	Permanent bool `json:"permanent,omitempty"`
	// RetryAfter is the minimum pause before the next attempt. In JSON it is in milliseconds.
	RetryAfter time.Duration `json:"retryAfterMs,omitempty"`
}

// taskErrorJSON is the JSON form. Its durations have their unit in the name.
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
	// InputBytes and the fields below it describe input and result to clients that do not receive
	// them.
	InputBytes   int64           `json:"inputBytes,omitempty" wire:"-"`
	InputSHA256  string          `json:"inputSha256,omitempty" wire:"-"`
	ResultBytes  int64           `json:"resultBytes,omitempty" wire:"-"`
	ResultSHA256 string          `json:"resultSha256,omitempty" wire:"-"`
	Error        *TaskError      `json:"error"`
	Progress     json.RawMessage `json:"progress,omitempty"`
	WorkerID     *uuid.UUID      `json:"workerId"`
	// NeedsFeatures are the features of the workers that may run the task.
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
	// Embedded marks a lease of a worker in the process that owns the data directory.
	Embedded bool `json:"-"`
	// Uncounted is the number of attempts that do not count as tries. They were released, were
	// lost, or belong to an earlier task under the same key. Lost is the number of lost attempts.
	Uncounted int `json:"-"`
	Lost      int `json:"-"`
	// AttemptAt is the time at which the running attempt was claimed. SignAt is the time of the
	// last activity of its code.
	AttemptAt Time `json:"-"`
	SignAt    Time `json:"-"`
	// NotBefore is the earliest time at which a PENDING task may be claimed.
	NotBefore  Time     `json:"-"`
	InputBlob  *BlobRef `json:"-"`
	ResultBlob *BlobRef `json:"-"`
	// Step marks the record of a step. It is created in a terminal status and never claimed.
	Step bool `json:"step,omitempty"`
	// Instance is what distinguishes the task or step from others of its kind, for clients. The
	// store has it in Options.
	Instance string `json:"instance,omitempty" wire:"-"`
	// Place is the position of the task in the conversation.
	Place Place `json:"-"`
}

// Place identifies a position in a conversation. The events and blocks that originate there carry
// it.
type Place struct {
	ResponseID string `json:"responseId,omitempty"`
	TurnID     string `json:"turnId,omitempty"`
	MessageID  string `json:"messageId,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
}

// Turn returns the number of the turn if TurnID is "turn_" and a number, and 0 otherwise.
func (p Place) Turn() int {
	n, err := strconv.Atoi(strings.TrimPrefix(p.TurnID, "turn_"))
	if err != nil {
		return 0
	}
	return n
}
