package perdure

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// RetrySignal is the name of the signal that asks an execution to repeat its failed turn.
const RetrySignal = "retry"

// BulkActionName is the name of the command that a bulk action applies to each of its executions.
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
	// MaxBulkErrors is the maximum number of elements of BulkAction.Errors.
	MaxBulkErrors = 20
	// BulkActionKept is how long a bulk action stays stored after its end.
	BulkActionKept = 7 * 24 * time.Hour
	// BulkKeyKept is how long the server remembers the idempotency key of a request for a bulk action.
	BulkKeyKept = 24 * time.Hour
	// maxBulkMessage is the maximum length of the message of a BulkError, in bytes.
	maxBulkMessage = 500
)

// BulkAction applies the same command to each execution that matched a filter when the action was
// created. The action skips an execution that no longer matches when the action comes to it.
type BulkAction struct {
	ID     uuid.UUID        `json:"id"`
	Org    string           `json:"-"`
	Action BulkActionName   `json:"action" enum:"cancel,retry"`
	Filter BulkFilter       `json:"filter"`
	Reason string           `json:"reason,omitempty"`
	Status BulkActionStatus `json:"status" enum:"running,completed"`
	// Matched is the number of executions that the action applies to. Done, Skipped and Failed add
	// up to Matched when the action is completed.
	Matched int `json:"matched"`
	Done    int `json:"done"`
	Skipped int `json:"skipped"`
	Failed  int `json:"failed"`
	// Errors are the errors of the first executions that failed.
	Errors    []BulkError `json:"errors" nullable:"false"`
	CreatedAt Time        `json:"createdAt"`
	EndedAt   *Time       `json:"endedAt"`

	// Statuses lists the statuses that an execution may have to match the filter. Statuses on which the
	// command has no effect are left out. KeyID is the API key of the client; nil for the token of the
	// data directory.
	Statuses []Status   `json:"-"`
	KeyID    *uuid.UUID `json:"-"`
	// IdempotencyKey, if set, identifies the request, together with RequestHash. A repeat of the
	// request within BulkKeyKept creates no second action.
	IdempotencyKey string `json:"-"`
	RequestHash    Hash   `json:"-"`
}

// BulkFilter selects executions, with the same filters as a list of executions. A field with its zero
// value does not filter.
type BulkFilter struct {
	Status        []Status          `json:"status,omitempty"` // executions with any of these statuses
	Kind          string            `json:"kind,omitempty"`
	Tag           string            `json:"tag,omitempty"` // executions of kinds that had this tag when the action was created
	DefinitionID  *uuid.UUID        `json:"agentDefinitionId,omitempty"`
	CreatedAfter  *Time             `json:"createdAfter,omitempty"`
	CreatedBefore *Time             `json:"createdBefore,omitempty"`
	Query         string            `json:"q,omitempty"`
	Metadata      map[string]string `json:"metadata,omitempty"`
	FailedTurn    bool              `json:"failedTurn,omitempty"` // only executions whose TurnFailed is true
}

// BulkError is the reason why a bulk action failed on one execution.
type BulkError struct {
	ExecutionID uuid.UUID `json:"agentExecutionId"`
	Code        Code      `json:"code"`
	Message     string    `json:"message"`
}

// BulkCount is the number of executions that a bulk action with a given filter would apply to.
type BulkCount struct {
	// Matched is the number of executions that match the filter, at most MaxBulkExecutions. More
	// reports that more executions than that match.
	Matched int  `json:"matched"`
	More    bool `json:"more"`
}

// Handled returns the number of executions that the action has already processed.
func (a *BulkAction) Handled() int { return a.Done + a.Skipped + a.Failed }

// Fail counts the execution as failed, and stores the error if there is room in Errors.
func (a *BulkAction) Fail(execution uuid.UUID, err error) {
	a.Failed++
	if len(a.Errors) >= MaxBulkErrors {
		return
	}
	a.Errors = append(a.Errors, BulkError{ExecutionID: execution, Code: CodeOf(err), Message: shortMessage(err)})
}

// shortMessage returns the message of err, shortened to maxBulkMessage bytes.
func shortMessage(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxBulkMessage)], "")
}

// Takes reports whether the action has an effect on the execution x in its current state.
func (a *BulkAction) Takes(x *Execution) bool {
	return a.Action.Takes(a.Statuses, x) && (!a.Filter.FailedTurn || x.TurnFailed())
}

// Takes reports whether the command has an effect on the execution x in its current state. It is false
// if the status of x is not one of the given statuses.
func (n BulkActionName) Takes(statuses []Status, x *Execution) bool {
	return slices.Contains(statuses, x.Status) && (n != BulkRetry || x.Wait != nil && x.Wait.TakesSignal(RetrySignal))
}

// BulkStatuses returns the statuses of executions on which the command has an effect, restricted to
// the statuses in `filter`. An empty `filter` stands for all statuses. Errors: invalid_argument.
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
