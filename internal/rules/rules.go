// Package rules contains the decisions about executions, tasks, signals and conversations, as pure
// functions. A decision takes the state of one execution and a command, and returns the changes of
// one transaction, or an error. It may run more than once for the same command, so ids, random
// numbers and times are parameters. It has no lock, no clock and no context.
//
// Package store defines State and Changes. Package engine reads the state that a decision needs,
// runs the decision in the committer and, after the commit, applies the [Decision] in the answer.
package rules

import (
	"time"
)

// Config contains the settings of a server on which decisions depend.
type Config struct {
	// Lease is the duration of a claim without a renewal.
	Lease time.Duration
	// CancelGrace is the time in which the worker of a cancelled execution must end it.
	CancelGrace time.Duration
	// PayloadLimit is the maximum size of one payload in bytes.
	PayloadLimit int64
	// QueueLimits maps a queue to the maximum number of tasks of one org that run on it at the same
	// time. A queue that is not in the map has no limit.
	QueueLimits map[string]int
}
