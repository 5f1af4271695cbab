package pick

import (
	"github.com/google/uuid"
)

// Candidate is an execution, or one of its tasks, on which a command decides.
type Candidate struct {
	Execution uuid.UUID
	Task      *uuid.UUID
	// Key and queue are those of a pending task, whose limits they select.
	Key, Queue string
}
