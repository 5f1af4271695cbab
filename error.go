package perdure

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is the machine-readable name of an error. The set of codes is fixed: each transport has one
// table that maps the codes to the transport's status codes.
type Code string

const (
	InvalidArgument      Code = "invalid_argument"
	NotFound             Code = "not_found"
	AlreadyExists        Code = "already_exists"
	LeaseLost            Code = "lease_lost"
	ExecutionEnded       Code = "execution_ended"
	InvalidTranscript    Code = "invalid_transcript"
	IdempotencyKeyReused Code = "idempotency_key_reused"
	StepNameReused       Code = "step_name_reused"
	PayloadTooLarge      Code = "payload_too_large"
	Conflict             Code = "conflict"
	Unauthenticated      Code = "unauthenticated"
	PermissionDenied     Code = "permission_denied"
	RateLimited          Code = "rate_limited"
	Unavailable          Code = "unavailable"
	Internal             Code = "internal"
	// Unsupported is the code for something that only a newer version of the program supports, such
	// as a new kind of wait.
	Unsupported Code = "unsupported"
	// QuestionKeyReused is the code of an error: the agent's function has already asked a question
	// with this key since it was entered.
	QuestionKeyReused Code = "question_key_reused"
	// QuestionDecided is the code of an error: the question that a client answers already has a
	// decision.
	QuestionDecided Code = "question_decided"
	// DetailsChanged is the code of an error: the approval names details that are not the question's
	// current ones.
	DetailsChanged Code = "details_changed"
	// AlreadyVoted is the code of an error: the API key has already voted on the question.
	AlreadyVoted Code = "already_voted"
)

// FieldError names one invalid field, like an element of the errors extension in RFC 9457.
type FieldError struct {
	Location string `json:"location"`
	Message  string `json:"message"`
}

// Error is an error with a Code. Message is safe to show to a client.
type Error struct {
	Code    Code
	Message string
	Fields  []FieldError
	// RetryAfter is the minimum pause before a retry; 0 means that the pause is unknown.
	RetryAfter time.Duration
	// Err is the cause. Transports never send it.
	Err error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.Err)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf creates a coded error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// FieldErrorf creates an invalid_argument error that names the invalid field.
func FieldErrorf(field, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Code: InvalidArgument, Message: strings.TrimPrefix(field+": "+msg, ": "), Fields: []FieldError{{Location: field, Message: msg}}}
}

// Unanswered returns an error with the code unavailable for a command that was stored but whose
// reply could not be created. The client then repeats the command and gets the reply. With any
// other code, the client would conclude that nothing was stored. Unanswered(nil) is nil.
func Unanswered(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Unavailable, Message: "it is stored, but could not be answered; ask again", Err: err}
}

// CodeOf returns the code of the *Error or *TaskError that err wraps. It returns "" for nil, and
// internal for any other error.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	var failed *TaskError
	if errors.As(err, &failed) {
		return failed.Code
	}
	return Internal
}

// IsCode reports whether CodeOf(err) is the code. It returns false for a nil error.
func IsCode(err error, code Code) bool { return err != nil && CodeOf(err) == code }
