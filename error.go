package perdure

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code is the machine-readable name of an error. The list is closed: each
// transport maps it to its own status in one table.
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
)

// FieldError names one field at fault, as RFC 9457's errors extension does.
type FieldError struct {
	Location string `json:"location"`
	Message  string `json:"message"`
}

// Error is an error with a Code. Message is safe to show to a client.
type Error struct {
	Code    Code
	Message string
	Fields  []FieldError
	// RetryAfter is the least pause before another try; 0 says nothing of it.
	RetryAfter time.Duration
	// Err is the cause. It stays inside the process: transports never send it.
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

// FieldErrorf creates an invalid_argument error that names the field at fault.
func FieldErrorf(field, format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Code: InvalidArgument, Message: strings.TrimPrefix(field+": "+msg, ": "), Fields: []FieldError{{Location: field, Message: msg}}}
}

// Unanswered is the error of a command that is durable and whose answer could
// not be given: asked again, it answers the same. Any other code would say that
// nothing was stored. It is nil where err is.
func Unanswered(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Unavailable, Message: "it is stored, but could not be answered; ask again", Err: err}
}

// CodeOf returns the code of err: that of the *Error or *TaskError it wraps, ""
// for nil, and internal for anything else.
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

// IsCode reports whether err carries code.
func IsCode(err error, code Code) bool { return err != nil && CodeOf(err) == code }
