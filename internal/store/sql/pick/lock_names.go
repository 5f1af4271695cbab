package pick

import (
	"github.com/google/uuid"
)

// A decision can depend on data outside of its execution that has no row to lock. Named locks
// protect these data: the claims of a worker, the tasks that run under a key or on a queue, and an
// idempotency key that may not exist yet. They also protect rows outside of executions that are
// read, changed and written back. A name is locked before the data is read and until the
// transaction ends.

// HeldExecution returns the name of the lock that serializes the commands of an execution.
func HeldExecution(id uuid.UUID) string { return "execution " + id.String() }
