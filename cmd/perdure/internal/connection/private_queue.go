package connection

import (
	"strings"

	"github.com/perdure/perdure"
)

// PrivateQueue is the prefix of the queue of a run that a command executes with its own worker. No
// worker in another directory takes work from that queue.
const PrivateQueue = "run:"

// IsPrivate reports whether the run's queue is private. Only the command that started the run, or
// perdure resume, executes such a run.
func IsPrivate(x *perdure.Execution) bool { return strings.HasPrefix(x.Queue, PrivateQueue) }
