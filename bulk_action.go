package perdure

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RetrySignal is the name of the signal that asks an execution to repeat its failed turn.
const RetrySignal = "retry"

// BulkActionName names what a bulk action does with each of its executions.
type BulkActionName string

const (
	// BulkCancel cancels executions that have not ended.
	BulkCancel BulkActionName = "cancel"
	// BulkRetry sends RetrySignal to executions that wait for it, that is, after a failed turn.
	BulkRetry BulkActionName = "retry"
)

// BulkActionStatus is the status of a bulk action.
type BulkActionStatus string

// The statuses of a bulk action.
const (
	BulkRunning   BulkActionStatus = "running"
	BulkCompleted BulkActionStatus = "completed"
)

const (
	// MaxBulkExecutions is the maximum number of executions of a bulk action.
	MaxBulkExecutions = 10_000
	// MaxBulkActions is the maximum number of bulk actions of an org that run at the same time.
	MaxBulkActions = 10
	// MaxBulkReason is the maximum length of the reason of a bulk action, in bytes.
	MaxBulkReason = 4 << 10
	// MaxBulkErrors is the maximum length of BulkAction.Errors.
	MaxBulkErrors = 20
	// BulkActionKept is how long a bulk action is kept after its end.
	BulkActionKept = 7 * 24 * time.Hour
	// BulkKeyKept is how long an idempotency key identifies a request for a bulk action.
	BulkKeyKept = 24 * time.Hour
	// maxBulkMessage is the maximum length of the message of a BulkError, in bytes.
	maxBulkMessage = 500
)

// BulkAction does the same with each execution that matched a filter when the action was created.
// An execution that no longer matches when its turn comes is skipped.
type BulkAction struct {
	ID     uuid.UUID        `json:"id"`
	Org    string           `json:"-"`
	Action BulkActionName   `json:"action" enum:"cancel,retry"`
	Filter BulkFilter       `json:"filter"`
	Reason string           `json:"reason,omitempty"`
	Status BulkActionStatus `json:"status" enum:"running,completed"`
	// Matched is the number of executions of the action. Done, Skipped and Failed add up to it when
	// the action is completed.
	Matched int `json:"matched"`
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	// Errors are the first errors of those that failed.
	Errors    []BulkError `json:"errors" nullable:"false"`
	CreatedAt Time        `json:"createdAt"`
	EndedAt   *Time       `json:"endedAt"`

	// Statuses lists the statuses that an execution may have to match. Statuses on which the action
	// has no effect are left out. KeyID is the key of the client; nil for the token of the data
	// directory.
	Statuses []Status   `json:"-"`
	KeyID    *uuid.UUID `json:"-"`
	// IdempotencyKey, if set, identifies the request for BulkKeyKept, together with RequestHash.
	IdempotencyKey string `json:"-"`
	RequestHash    Hash   `json:"-"`
}

// BulkFilter selects executions, as a list of executions does. Zero fields do not filter.
type BulkFilter struct {
	Status        []Status          `json:"status,omitempty"` // any of them
	Kind          string            `json:"kind,omitempty"`
	Tag           string            `json:"tag,omitempty"` // executions of kinds that had this tag when the action was created
	DefinitionID  *uuid.UUID        `json:"agentDefinitionId,omitempty"`
	CreatedAfter  *Time             `json:"createdAfter,omitempty"`
	CreatedBefore *Time             `json:"createdBefore,omitempty"`
	Query         string            `json:"q,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	FailedTurn    bool              `json:"failedTurn,omitempty"` // only those of which TurnFailed reports true
}

// BulkError is the reason why a bulk action had no effect on an execution.
type BulkError struct {
	ExecutionID uuid.UUID `json:"agentExecutionId"`
	Code        Code      `json:"code"`
	Message     string    `json:"message"`
}

// BulkCount is the number of executions that a bulk action would have.
type BulkCount struct {
	// Matched is at most MaxBulkExecutions. More reports that more executions match than a bulk action may
	// have.
	Matched int  `json:"matched"`
	More    bool `json:"more"`
}

// Handled returns the number of executions whose turn is over.
func (a *BulkAction) Handled() int { return a.Done + a.Skipped + a.Failed }

// Fail counts an execution as failed.
func (a *BulkAction) Fail(execution uuid.UUID, err error) {
	a.Failed++
	if len(a.Errors) >= MaxBulkErrors {
		return
	}
	a.Errors = append(a.Errors, BulkError{ExecutionID: execution, Code: CodeOf(err), Message: shortMessage(err)})
}

// shortMessage returns the beginning of the message of an error.
func shortMessage(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxBulkMessage)], "")
}

// Takes reports whether the action has an effect on an execution in its current state.
func (a *BulkAction) Takes(x *Execution) bool {
	return a.Action.Takes(a.Statuses, x) && (!a.Filter.FailedTurn || x.TurnFailed())
}

// Takes reports whether the action has an effect on an execution in its current state. The action
// applies only to executions with one of these statuses.
func (n BulkActionName) Takes(statuses []Status, x *Execution) bool {
	return slices.Contains(statuses, x.Status) && (n != BulkRetry || x.Wait != nil && x.Wait.TakesSignal(RetrySignal))
}

// BulkStatuses returns the statuses that an execution may have to match. filter contains the
// statuses of the filter; if it is empty, the filter selects all statuses. Errors:
// invalid_argument.
func (n BulkActionName) BulkStatuses(filter []Status) ([]Status, error) {
	var able []Status
	switch n {
	case BulkCancel:
		able = []Status{StatusPending, StatusRunning, StatusWaiting}
	case BulkRetry:
		able = []Status{StatusWaiting}
	default:
		return nil, FieldErrorf("action", "%q must be cancel or retry", n)
	}
	if len(filter) == 0 {
		return able, nil
	}
	both := slices.DeleteFunc(slices.Clone(able), func(s Status) bool { return !slices.Contains(filter, s) })
	if len(both) == 0 {
		return nil, FieldErrorf("filter.status", "%s has no effect on runs with the statuses %v; it has on %v", n, filter, able)
	}
	return both, nil
}
