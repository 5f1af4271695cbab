package connection

import (
	"strings"

	"github.com/perdure/perdure"
)

// PrivateQueue is the prefix of the names of private queues. A command that puts a run into a private queue
// executes the run with a worker of its own. Workers of other data directories do not claim work from that
// queue.
const PrivateQueue = "run:"

// IsPrivate reports whether the run's queue is private. Only the command that started the run, or
// perdure resume, executes such a run.
func IsPrivate(x *perdure.Execution) bool { return strings.HasPrefix(x.Queue, PrivateQueue) }
