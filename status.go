package perdure

import "strings"

// Status is the state of an execution. The possible transitions are PENDING → RUNNING → (WAITING →
// PENDING → RUNNING)* → COMPLETED | FAILED | CANCELLED. CANCELLING is the state between a cancel
// request on a RUNNING execution and its end.
type Status string

const (
	StatusPending    Status = "PENDING"
	StatusRunning    Status = "RUNNING"
	StatusWaiting    Status = "WAITING"
	StatusCancelling Status = "CANCELLING"
	StatusCompleted  Status = "COMPLETED"
	StatusFailed     Status = "FAILED"
	StatusCancelled  Status = "CANCELLED"
)

var statuses = []Status{
	StatusPending, StatusRunning, StatusWaiting, StatusCancelling,
	StatusCompleted, StatusFailed, StatusCancelled,
}

// ParseStatus parses the name of a status in upper or lower case.
func ParseStatus(s string) (Status, error) {
	for _, status := range statuses {
		if strings.EqualFold(string(status), s) {
			return status, nil
		}
	}
	return "", FieldErrorf("status", "%q is not a status; the statuses are PENDING, RUNNING, WAITING, CANCELLING, COMPLETED, FAILED and CANCELLED", s)
}

// Terminal reports whether the status is final.
func (s Status) Terminal() bool {
	return s == StatusCompleted || s == StatusFailed || s == StatusCancelled
}

// Held reports whether a worker holds a lease on an execution with this status.
func (s Status) Held() bool { return s == StatusRunning || s == StatusCancelling }

// PersistenceMode says where the contents of an execution are stored: on the server (REMOTE) or on
// its home worker (LOCAL).
type PersistenceMode string

const (
	Remote PersistenceMode = "REMOTE"
	Local  PersistenceMode = "LOCAL"
)

// ParsePersistenceMode parses the name of a mode in upper or lower case; "" is REMOTE.
func ParsePersistenceMode(s string) (PersistenceMode, error) {
	switch {
	case s == "" || strings.EqualFold(s, string(Remote)):
		return Remote, nil
	case strings.EqualFold(s, string(Local)):
		return Local, nil
	}
	return "", FieldErrorf("persistenceMode", "%q is not a persistence mode; use REMOTE or LOCAL", s)
}
