// Package rules executes the commands about executions, tasks, signals and conversations. Each
// command is a pure function: it takes the state of one execution, and returns the changes of one
// transaction, or an error. It may run more than once for the same command, so ids, random numbers
// and times are parameters. It uses no lock, no clock and no context.
//
// Package store defines State and Changes. Package engine reads the state that a function needs and
// runs the function in the committer. After the commit, the engine applies the [Decision] that the
// function has put into the field Answer of the changes.
package rules

import (
	"time"
)

// Config contains the settings of a server that the functions of this package use.
type Config struct {
	// Lease is how long a claim lasts without a renewal.
	Lease time.Duration
	// CancelGrace is the time within which the worker of a cancelled execution must end it.
	CancelGrace time.Duration
	// PayloadLimit is the maximum size of one payload in bytes.
	PayloadLimit int64
	// QueueLimits maps a queue to the maximum number of tasks of one org that run on it at the same
	// time. A queue that is not in the map has no limit.
	QueueLimits map[string]int
}
