package connection

import (
	"strings"

	"github.com/perdure/perdure"
)

// PrivateQueue is the prefix of the queue of a run that a command executes with its own worker. No
// worker in another directory takes work from that queue.
const PrivateQueue = "run:"

// IsPrivate reports whether only the command that started the run, or resume, executes it.
func IsPrivate(x *perdure.Execution) bool { return strings.HasPrefix(x.Queue, PrivateQueue) }
