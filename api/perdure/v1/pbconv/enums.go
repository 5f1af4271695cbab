package pbconv

import (
	"github.com/perdure/perdure"
	perdurev1 "github.com/perdure/perdure/api/perdure/v1"
)

// enum maps the values of a string type of package perdure to the numbers of a proto enum, and back. ""
// always maps to zero.
type enum[D ~string, P ~int32] struct {
	to   map[D]P
	from map[P]D
}

func pair[D ~string, P ~int32](to map[D]P) enum[D, P] {
	e := enum[D, P]{to: to, from: map[P]D{0: ""}}
	for word, number := range to {
		e.from[number] = word
	}
	return e
}

// read returns the string for a number of a proto enum. If this version does not know the number,
// read records the error invalid_argument in d; the error names the field.
func read[D ~string, P ~int32](d *decoder, e enum[D, P], field string, number P) D {
	word, ok := e.from[number]
	if !ok {
		d.fail(field, "has the number %d, which this version does not know", number)
	}
	return word
}

var statuses = pair(map[perdure.Status]perdurev1.ExecutionStatus{
	perdure.StatusPending:    perdurev1.ExecutionStatus_EXECUTION_STATUS_PENDING,
	perdure.StatusRunning:    perdurev1.ExecutionStatus_EXECUTION_STATUS_RUNNING,
	perdure.StatusWaiting:    perdurev1.ExecutionStatus_EXECUTION_STATUS_WAITING,
	perdure.StatusCancelling: perdurev1.ExecutionStatus_EXECUTION_STATUS_CANCELLING,
	perdure.StatusCompleted:  perdurev1.ExecutionStatus_EXECUTION_STATUS_COMPLETED,
	perdure.StatusFailed:     perdurev1.ExecutionStatus_EXECUTION_STATUS_FAILED,
	perdure.StatusCancelled:  perdurev1.ExecutionStatus_EXECUTION_STATUS_CANCELLED,
})

var persistenceModes = pair(map[perdure.PersistenceMode]perdurev1.PersistenceMode{
	perdure.Remote: perdurev1.PersistenceMode_PERSISTENCE_MODE_REMOTE,
	perdure.Local:  perdurev1.PersistenceMode_PERSISTENCE_MODE_LOCAL,
})

var wokes = pair(map[perdure.WakeReason]perdurev1.Woke{
	perdure.WakeStart:    perdurev1.Woke_WOKE_START,
	perdure.WakeTask:     perdurev1.Woke_WOKE_TASK,
	perdure.WakeSignal:   perdurev1.Woke_WOKE_SIGNAL,
	perdure.WakeTimer:    perdurev1.Woke_WOKE_TIMER,
	perdure.WakeLost:     perdurev1.Woke_WOKE_LOST,
	perdure.WakeReturned: perdurev1.Woke_WOKE_RETURNED,
	perdure.WakeQuestion: perdurev1.Woke_WOKE_QUESTION,
})

var entryTypes = pair(map[perdure.EntryType]perdurev1.EntryType{
	perdure.EntryMessage:    perdurev1.EntryType_ENTRY_TYPE_MESSAGE,
	perdure.EntryLLMCall:    perdurev1.EntryType_ENTRY_TYPE_LLM_CALL,
	perdure.EntryInjection:  perdurev1.EntryType_ENTRY_TYPE_INJECTION,
	perdure.EntryCompaction: perdurev1.EntryType_ENTRY_TYPE_COMPACTION,
})

var roles = pair(map[perdure.Role]perdurev1.Role{
	perdure.RoleSystem:     perdurev1.Role_ROLE_SYSTEM,
	perdure.RoleUser:       perdurev1.Role_ROLE_USER,
	perdure.RoleAssistant:  perdurev1.Role_ROLE_ASSISTANT,
	perdure.RoleToolResult: perdurev1.Role_ROLE_TOOL_RESULT,
})

var signalStates = pair(map[perdure.SignalState]perdurev1.SignalState{
	perdure.SignalPending:  perdurev1.SignalState_SIGNAL_STATE_PENDING,
	perdure.SignalTaken:    perdurev1.SignalState_SIGNAL_STATE_TAKEN,
	perdure.SignalConsumed: perdurev1.SignalState_SIGNAL_STATE_CONSUMED,
})

var taskStatuses = pair(map[perdure.TaskStatus]perdurev1.TaskStatus{
	perdure.TaskPending:     perdurev1.TaskStatus_TASK_STATUS_PENDING,
	perdure.TaskRunning:     perdurev1.TaskStatus_TASK_STATUS_RUNNING,
	perdure.TaskCompleted:   perdurev1.TaskStatus_TASK_STATUS_COMPLETED,
	perdure.TaskFailed:      perdurev1.TaskStatus_TASK_STATUS_FAILED,
	perdure.TaskInterrupted: perdurev1.TaskStatus_TASK_STATUS_INTERRUPTED,
	perdure.TaskCancelled:   perdurev1.TaskStatus_TASK_STATUS_CANCELLED,
})

var onLosts = pair(map[perdure.OnLost]perdurev1.OnLost{
	perdure.OnLostRetry:  perdurev1.OnLost_ON_LOST_RETRY,
	perdure.OnLostReport: perdurev1.OnLost_ON_LOST_REPORT,
})

var taskConditions = pair(map[perdure.TaskCondition]perdurev1.TaskCondition{
	perdure.TaskEnded:     perdurev1.TaskCondition_TASK_CONDITION_ENDED,
	perdure.TaskSucceeded: perdurev1.TaskCondition_TASK_CONDITION_SUCCEEDED,
	perdure.TaskDidFail:   perdurev1.TaskCondition_TASK_CONDITION_FAILED,
})

var eventTypes = pair(map[perdure.EventType]perdurev1.EventType{
	perdure.EventCreated:         perdurev1.EventType_EVENT_TYPE_AGENT_CREATED,
	perdure.EventStarted:         perdurev1.EventType_EVENT_TYPE_AGENT_STARTED,
	perdure.EventWaiting:         perdurev1.EventType_EVENT_TYPE_AGENT_WAITING,
	perdure.EventResumed:         perdurev1.EventType_EVENT_TYPE_AGENT_RESUMED,
	perdure.EventCheckpoint:      perdurev1.EventType_EVENT_TYPE_AGENT_CHECKPOINT,
	perdure.EventCancelling:      perdurev1.EventType_EVENT_TYPE_AGENT_CANCELLING,
	perdure.EventCompleted:       perdurev1.EventType_EVENT_TYPE_AGENT_COMPLETED,
	perdure.EventFailed:          perdurev1.EventType_EVENT_TYPE_AGENT_FAILED,
	perdure.EventCancelled:       perdurev1.EventType_EVENT_TYPE_AGENT_CANCELLED,
	perdure.EventTaskScheduled:   perdurev1.EventType_EVENT_TYPE_TASK_SCHEDULED,
	perdure.EventTaskStarted:     perdurev1.EventType_EVENT_TYPE_TASK_STARTED,
	perdure.EventTaskRetrying:    perdurev1.EventType_EVENT_TYPE_TASK_RETRYING,
	perdure.EventTaskCompleted:   perdurev1.EventType_EVENT_TYPE_TASK_COMPLETED,
	perdure.EventTaskFailed:      perdurev1.EventType_EVENT_TYPE_TASK_FAILED,
	perdure.EventTaskInterrupted: perdurev1.EventType_EVENT_TYPE_TASK_INTERRUPTED,
	perdure.EventTaskCancelled:   perdurev1.EventType_EVENT_TYPE_TASK_CANCELLED,
	perdure.EventSignal:          perdurev1.EventType_EVENT_TYPE_SIGNAL_RECEIVED,
	perdure.EventEntry:           perdurev1.EventType_EVENT_TYPE_ENTRY_APPENDED,
	perdure.EventToken:           perdurev1.EventType_EVENT_TYPE_TOKEN,
	perdure.EventThinking:        perdurev1.EventType_EVENT_TYPE_THINKING,
	perdure.EventTerminal:        perdurev1.EventType_EVENT_TYPE_TERMINAL,
	perdure.EventData:            perdurev1.EventType_EVENT_TYPE_DATA,
	perdure.EventBlockClosed:     perdurev1.EventType_EVENT_TYPE_BLOCK_CLOSED,
	perdure.EventError:           perdurev1.EventType_EVENT_TYPE_ERROR,

	perdure.EventQuestionAsked:     perdurev1.EventType_EVENT_TYPE_QUESTION_ASKED,
	perdure.EventQuestionVoted:     perdurev1.EventType_EVENT_TYPE_QUESTION_VOTED,
	perdure.EventQuestionEdited:    perdurev1.EventType_EVENT_TYPE_QUESTION_EDITED,
	perdure.EventQuestionAnswered:  perdurev1.EventType_EVENT_TYPE_QUESTION_ANSWERED,
	perdure.EventQuestionExpired:   perdurev1.EventType_EVENT_TYPE_QUESTION_EXPIRED,
	perdure.EventQuestionWithdrawn: perdurev1.EventType_EVENT_TYPE_QUESTION_WITHDRAWN,
	perdure.EventQuestionClosed:    perdurev1.EventType_EVENT_TYPE_QUESTION_CLOSED,
})

var blockReasons = pair(map[perdure.BlockReason]perdurev1.BlockReason{
	perdure.BlockDone:       perdurev1.BlockReason_BLOCK_REASON_DONE,
	perdure.BlockSuperseded: perdurev1.BlockReason_BLOCK_REASON_SUPERSEDED,
	perdure.BlockTruncated:  perdurev1.BlockReason_BLOCK_REASON_TRUNCATED,
})

var outcomeKinds = pair(map[perdure.OutcomeKind]perdurev1.OutcomeKind{
	perdure.OutcomeContinue:  perdurev1.OutcomeKind_OUTCOME_KIND_UNSPECIFIED,
	perdure.OutcomeSuspend:   perdurev1.OutcomeKind_OUTCOME_KIND_SUSPEND,
	perdure.OutcomeComplete:  perdurev1.OutcomeKind_OUTCOME_KIND_COMPLETE,
	perdure.OutcomeFail:      perdurev1.OutcomeKind_OUTCOME_KIND_FAIL,
	perdure.OutcomeCancelled: perdurev1.OutcomeKind_OUTCOME_KIND_CANCELLED,
})

var parkedStates = pair(map[perdure.ParkedState]perdurev1.ParkedState{
	perdure.ParkedKeep:  perdurev1.ParkedState_PARKED_STATE_KEEP,
	perdure.ParkedMoved: perdurev1.ParkedState_PARKED_STATE_MOVED,
	perdure.ParkedEnded: perdurev1.ParkedState_PARKED_STATE_ENDED,
})

var codes = pair(map[perdure.Code]perdurev1.ErrorCode{
	perdure.InvalidArgument:      perdurev1.ErrorCode_ERROR_CODE_INVALID_ARGUMENT,
	perdure.NotFound:             perdurev1.ErrorCode_ERROR_CODE_NOT_FOUND,
	perdure.AlreadyExists:        perdurev1.ErrorCode_ERROR_CODE_ALREADY_EXISTS,
	perdure.LeaseLost:            perdurev1.ErrorCode_ERROR_CODE_LEASE_LOST,
	perdure.ExecutionEnded:       perdurev1.ErrorCode_ERROR_CODE_EXECUTION_ENDED,
	perdure.InvalidTranscript:    perdurev1.ErrorCode_ERROR_CODE_INVALID_TRANSCRIPT,
	perdure.IdempotencyKeyReused: perdurev1.ErrorCode_ERROR_CODE_IDEMPOTENCY_KEY_REUSED,
	perdure.StepNameReused:       perdurev1.ErrorCode_ERROR_CODE_STEP_NAME_REUSED,
	perdure.PayloadTooLarge:      perdurev1.ErrorCode_ERROR_CODE_PAYLOAD_TOO_LARGE,
	perdure.Conflict:             perdurev1.ErrorCode_ERROR_CODE_CONFLICT,
	perdure.Unauthenticated:      perdurev1.ErrorCode_ERROR_CODE_UNAUTHENTICATED,
	perdure.PermissionDenied:     perdurev1.ErrorCode_ERROR_CODE_PERMISSION_DENIED,
	perdure.RateLimited:          perdurev1.ErrorCode_ERROR_CODE_RATE_LIMITED,
	perdure.Unavailable:          perdurev1.ErrorCode_ERROR_CODE_UNAVAILABLE,
	perdure.Internal:             perdurev1.ErrorCode_ERROR_CODE_INTERNAL,
	perdure.Unsupported:          perdurev1.ErrorCode_ERROR_CODE_UNSUPPORTED,
	perdure.QuestionKeyReused:    perdurev1.ErrorCode_ERROR_CODE_QUESTION_KEY_REUSED,
	perdure.QuestionDecided:      perdurev1.ErrorCode_ERROR_CODE_QUESTION_DECIDED,
	perdure.DetailsChanged:       perdurev1.ErrorCode_ERROR_CODE_DETAILS_CHANGED,
	perdure.AlreadyVoted:         perdurev1.ErrorCode_ERROR_CODE_ALREADY_VOTED,
})
