package store

import (
	"context"
	"time"

	"github.com/perdure/perdure"
)

// String is the lane's name in metrics.
func (l Lane) String() string {
	if l < 0 || int(l) >= len(laneNames) {
		return "unknown"
	}
	return laneNames[l]
}

var laneNames = [Lanes]string{"claims", "commits", "chunks", "sweeps"}

// Observer is told what a store's committers do. Its functions are called by
// many goroutines at once, must not block, and may be nil.
type Observer struct {
	// Command has got its outcome; took counts from when it was queued, so it is
	// what the caller has waited.
	Command func(lane Lane, took time.Duration)
	// Batch is durable; commands counts those in it by lane, and took is the
	// transaction alone.
	Batch func(commands [Lanes]int, took time.Duration)
	// Setting of the database is off without which an answer is no promise, or on;
	// it is called whenever the setting was read. Only PostgreSQL has such settings.
	Setting func(name string, off bool)
}

// SettingOff returns o.Setting; nil where o is.
func (o *Observer) SettingOff() func(name string, off bool) {
	if o == nil {
		return nil
	}
	return o.Setting
}

// Degrading is a store that knows why it does less than it should.
type Degrading interface {
	// Degraded returns the reasons; none if all is well. It may look again, but reads
	// no content.
	Degraded(ctx context.Context) []Degradation
}

// Degradation is what is wrong with one thing of a store.
type Degradation struct {
	// Check is what is wrong, as in "disk"; Detail says more, in words that may be
	// shown to anybody.
	Check, Detail string
}

// Checking is a store that may serve while its file is not checked.
type Checking interface {
	// Unchecked reports whether the file has not passed a check since an end that was
	// not orderly, and how far the check is.
	Unchecked() (CheckProgress, bool)
	// CheckBeside begins that check, beside what is served. It is called once at most.
	CheckBeside()
}

// CheckProgress is how much of a file is checked, in bytes; Of is 0 before it is known.
type CheckProgress struct{ Bytes, Of int64 }

// Failing is a store that stops writing for good when its file can no longer be
// trusted.
type Failing interface {
	// Failed returns why it writes no more, nil while it does.
	Failed() error
}

// The checks of stores.
const (
	CheckDurability = "durability" // what was answered may be lost with the power
	CheckDisk       = "disk"       // writes are refused
)

// Census is how much there is in the store that waits or runs, over all orgs,
// as of one moment.
type Census struct {
	At     perdure.Time // by the store's clock
	Queues []QueueCensus
	// Held counts the executions that workers hold, by status: RUNNING and
	// CANCELLING.
	Held map[perdure.Status]int
	// Waiting counts those that wait, by the reason.
	Waiting map[string]int
	// Bytes is what the database takes on disk, the pages included that it holds
	// without need. A write-ahead log beside it is not counted.
	Bytes int64
}

// QueueCensus is what is PENDING on one queue: executions, or tasks.
type QueueCensus struct {
	Queue string
	Tasks bool
	// Pending counts all, Ready those that may be claimed now. The others are put
	// off, as after a failed attempt.
	Pending, Ready int
	// Since is when the one that has been ready longest became so; the zero time
	// if none is.
	Since perdure.Time
}

// Counter takes the census. Every Reader of a database is one.
type Counter interface {
	// Census costs as much as is pending, running and waiting, by indexes alone:
	// what has ended does not count.
	Census(ctx context.Context) (Census, error)
}
