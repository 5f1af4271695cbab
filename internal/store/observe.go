package store

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

// String returns the lane's name in metrics.
func (l Lane) String() string {
	if l < 0 || int(l) >= len(laneNames) {
		return "unknown"
	}
	return laneNames[l]
}

var laneNames = [Lanes]string{"claims", "commits", "chunks", "sweeps"}

// Observer is notified of the work of a store's committers. Its functions may be nil. They are
// called by many goroutines at once and must not block.
type Observer struct {
	// Command is called when the outcome of a command is known. The parameter `took` is the time
	// since the command was queued.
	Command func(lane Lane, took time.Duration)
	// Batch is called when a batch is durable. The parameter `commands` is the number of the
	// batch's commands in each lane; `took` is the duration of the transaction.
	Batch func(commands [Lanes]int, took time.Duration)
	// Setting is called whenever a durability setting of the database was read. If off is true, the
	// setting is off, so a confirmed write may be lost. Only PostgreSQL has such settings.
	Setting func(name string, off bool)
}

// SettingOff returns the function o.Setting, which may be nil. It also returns nil if o is nil.
func (o *Observer) SettingOff() func(name string, off bool) {
	if o == nil {
		return nil
	}
	return o.Setting
}

// Degrading is implemented by stores that can report why they work with restrictions.
type Degrading interface {
	// Degraded returns the reasons why the store is restricted; none if it works normally. It may
	// check the store again, but reads no content.
	Degraded(ctx context.Context) []Degradation
}

// Degradation is one problem of a store.
type Degradation struct {
	// Check is the name of the failed check, such as "disk". Detail describes the problem. Both may
	// be shown to unauthenticated clients.
	Check, Detail string
}

// Checking is implemented by stores that may serve before their file is checked.
type Checking interface {
	// Unchecked returns the progress of the file's check. The bool is false if no check is needed,
	// because the file has passed a check since the last unclean shutdown.
	Unchecked() (CheckProgress, bool)
	// CheckBeside starts the check of the file while the store is serving. It must be called at most
	// once.
	CheckBeside()
}

// CheckProgress is the progress of the check of a file. Of is the size of the file, or 0 while the
// size is unknown. Bytes is the number of bytes that are already checked.
type CheckProgress struct{ Bytes, Of int64 }

// Failing is implemented by stores that stop writing permanently when they can no longer trust their
// file.
type Failing interface {
	// Failed returns why the store has stopped writing; nil if it has not stopped.
	Failed() error
}

// These are the checks that a store can fail.
const (
	CheckDurability = "durability" // confirmed writes may be lost in a power failure
	CheckDisk       = "disk"       // writes are refused
)

// Census counts the pending, waiting and running work in the store, over all orgs, at one moment.
type Census struct {
	At     perdure.Time // when the counts were made, by the store's clock
	Queues []QueueCensus
	// Held counts the executions that workers have claimed, by status: RUNNING and CANCELLING.
	Held map[perdure.Status]int
	// Waiting counts the waiting executions by wait reason.
	Waiting map[string]int
	// Bytes is the size of the database on disk, unused pages included. A write-ahead log beside it
	// is not counted.
	Bytes int64
	// Deliveries counts the pending deliveries.
	Deliveries int64
}

// QueueCensus counts the PENDING executions or tasks of one queue.
type QueueCensus struct {
	Queue string
	Tasks bool
	// Pending counts all PENDING executions or tasks of the queue. Ready counts those that may be
	// claimed now. The others are delayed, for example after a failed attempt.
	Pending, Ready int
	// Since is the moment at which the oldest ready execution or task became ready; the zero time
	// if none is ready.
	Since perdure.Time
}

// Counter takes a census. Every Reader of a database implements Counter.
type Counter interface {
	// Census reads only indexes. Its cost grows with the number of pending, running and waiting
	// executions and tasks, not with the number of ended ones.
	Census(ctx context.Context) (Census, error)
}
