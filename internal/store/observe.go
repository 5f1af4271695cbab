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

// Observer is notified of the work of a store's committers. Its functions are called by many
// goroutines at once, must not block, and may be nil.
type Observer struct {
	// Command is called when a command has got its outcome. took is the time since the command was
	// queued, so it is the time that its caller has waited.
	Command func(lane Lane, took time.Duration)
	// Batch is called when a batch is durable. commands counts the batch's commands by lane. took
	// is the duration of the transaction alone.
	Batch func(commands [Lanes]int, took time.Duration)
	// Setting is called whenever a durability setting of the database was read. off reports that
	// the setting is off, so that an answered write may be lost. Only PostgreSQL has such settings.
	Setting func(name string, off bool)
}

// SettingOff returns o.Setting; nil if o is nil.
func (o *Observer) SettingOff() func(name string, off bool) {
	if o == nil {
		return nil
	}
	return o.Setting
}

// Degrading is a store that can report why it works with restrictions.
type Degrading interface {
	// Degraded returns the reasons; none if the store works normally. It may examine the store
	// again, but reads no content.
	Degraded(ctx context.Context) []Degradation
}

// Degradation is one problem of a store.
type Degradation struct {
	// Check is the name of the failed check, such as "disk". Detail describes the problem and may
	// be shown to anybody.
	Check, Detail string
}

// Checking is a store that may serve before its file is checked.
type Checking interface {
	// Unchecked reports whether the file has not passed a check since the last unclean shutdown,
	// and the progress of that check.
	Unchecked() (CheckProgress, bool)
	// CheckBeside starts the check of the file, in parallel with serving. It is called at most
	// once.
	CheckBeside()
}

// CheckProgress is how much of a file is checked, in bytes. Of is 0 until the size is known.
type CheckProgress struct{ Bytes, Of int64 }

// Failing is a store that stops writing permanently when it can no longer trust its file.
type Failing interface {
	// Failed returns why the store has stopped writing; nil if it has not stopped.
	Failed() error
}

// The checks that a store can fail.
const (
	CheckDurability = "durability" // answered writes may be lost in a power failure
	CheckDisk       = "disk"       // writes are refused
)

// Census counts the pending, waiting and running work in the store, over all orgs, at one moment.
type Census struct {
	At     perdure.Time // by the store's clock
	Queues []QueueCensus
	// Held counts the executions that workers hold, by status: RUNNING and CANCELLING.
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
	// Pending counts all of them. Ready counts those that may be claimed now; the others are
	// delayed, as after a failed attempt.
	Pending, Ready int
	// Since is the moment at which the oldest ready item became ready; the zero time if none is
	// ready.
	Since perdure.Time
}

// Counter takes a census. Every Reader of a database implements it.
type Counter interface {
	// Census counts by indexes alone. Its cost grows with the number of pending, running and
	// waiting executions and tasks. Ended ones cost nothing.
	Census(ctx context.Context) (Census, error)
}
