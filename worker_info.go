package perdure

import (
	"time"

	"github.com/google/uuid"
)

const (
	// WorkerSeenEvery is the interval at which a server records which workers it has contact with.
	WorkerSeenEvery = 10 * time.Second
	// WorkerPresence is how long a worker counts as connected after its last recorded contact.
	WorkerPresence = 30 * time.Second
	// WorkerKept is how long a worker is listed after its last recorded contact.
	WorkerKept = time.Hour
	// MaxListedWorkers is the maximum number of stored workers of an org. Further workers get work, but
	// they are not listed.
	MaxListedWorkers = 10_000
	// MaxQueuePauses is the maximum number of paused queues of an org.
	MaxQueuePauses = 1000
	// MaxQueueName is the maximum length in bytes of the name of a queue that is paused.
	MaxQueueName = 512
	// MaxQueueCount is the upper limit of the counts in QueueInfo and WorkerInfo. A count of
	// MaxQueueCount means that number or more.
	MaxQueueCount = 1000
	// MaxListedHolds is the maximum number of elements of WorkerInfo.Holds.
	MaxListedHolds = 100
)

// WorkerInfo is a worker as the servers of a store know it.
type WorkerInfo struct {
	ID      uuid.UUID `json:"id"`
	Org     string    `json:"-"`
	Version string    `json:"version"`
	Queues  []string  `json:"queues" nullable:"false"`
	// Agents and Tasks are the kinds of agents and tasks that the worker has registered.
	Agents []string `json:"agents" nullable:"false"`
	Tasks  []string `json:"tasks" nullable:"false"`
	// AgentSlots and TaskSlots are the maximum numbers of executions and tasks that the worker runs at
	// the same time; 0 if the worker's version does not report them.
	AgentSlots int `json:"agentSlots"`
	TaskSlots  int `json:"taskSlots"`
	// Embedded reports whether the worker is part of a server's process.
	Embedded     bool `json:"embedded"`
	RegisteredAt Time `json:"registeredAt"`
	// LastSeenAt is when a server last recorded contact with the worker. The last contact may have
	// been up to WorkerSeenEvery later. Connected reports whether LastSeenAt is less than
	// WorkerPresence ago.
	LastSeenAt Time `json:"lastSeenAt"`
	Connected  bool `json:"connected"`
	// Holding is the number of executions and tasks that the worker has claimed, at most MaxQueueCount.
	// Holds are the first MaxListedHolds of them.
	Holding int          `json:"holding"`
	Holds   []WorkerHold `json:"holds" nullable:"false"`
}

// WorkerHold is an execution or task that a worker has claimed.
type WorkerHold struct {
	ExecutionID uuid.UUID `json:"agentExecutionId"`
	// TaskID is the claimed task; nil if the worker has claimed the execution itself.
	TaskID *uuid.UUID `json:"taskId"`
	Kind   string     `json:"kind"`
	Queue  string     `json:"queue"`
}

// QueueInfo is a queue of an org. Counts are at most MaxQueueCount.
type QueueInfo struct {
	Name string `json:"name"`
	// Waiting is the number of executions and tasks that a worker could claim now. Tasks that wait for
	// the concurrency limit of their key are not counted.
	Waiting int `json:"waiting"`
	// OldestAt is when the oldest of the executions and tasks that Waiting counts began to wait; nil
	// if none is waiting. If Waiting is MaxQueueCount, an older one may exist.
	OldestAt *Time `json:"oldestAt"`
	// Running is the number of claimed executions and tasks.
	Running int `json:"running"`
	// Workers is the number of connected workers that take work from the queue.
	Workers int `json:"workers"`
	// Served reports whether Workers is not 0.
	Served bool `json:"served"`
	// Paused reports whether the queue is paused. Workers get no work from a paused queue.
	Paused   bool  `json:"paused"`
	PausedAt *Time `json:"pausedAt"`
}

// QueuePause is a paused queue of an org.
type QueuePause struct {
	Org   string `json:"-"`
	Queue string `json:"queue"`
	At    Time   `json:"at"`
}

// CheckQueueName refuses a name that no queue can have. Errors: invalid_argument.
func CheckQueueName(field, name string) error {
	if err := CheckText(field, name); err != nil {
		return err
	}
	if name == "" || len(name) > MaxQueueName {
		return FieldErrorf(field, "must have 1 to %d bytes", MaxQueueName)
	}
	return nil
}
