package llm

import (
	"fmt"
	"time"
)

// ErrorKind says what kept a model call from its answer.
type ErrorKind string

// The kinds of Error.
const (
	RateLimited    ErrorKind = "rate_limited"
	Overloaded     ErrorKind = "overloaded"
	Timeout        ErrorKind = "timeout"
	Network        ErrorKind = "network"
	EmptyAnswer    ErrorKind = "empty_answer"
	Auth           ErrorKind = "auth"
	InvalidRequest ErrorKind = "invalid_request"
	Refused        ErrorKind = "refused"
	Unknown        ErrorKind = "unknown"
)

// Error is a model call that failed.
type Error struct {
	Kind ErrorKind
	// Retryable says that the same call may well succeed later.
	Retryable bool
	// RetryAfter is how long the provider asks to wait; 0 where it does not say.
	RetryAfter time.Duration
	Provider   string
	// Status is the HTTP status, 0 where there was no answer.
	Status int
	// Message is safe to show to people: it holds no key and no internal text.
	Message string
	// Err is the cause, for logs only.
	Err error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s: %s (%s, status %d)", e.Provider, e.Message, e.Kind, e.Status)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Provider, e.Message, e.Kind)
}

func (e *Error) Unwrap() error { return e.Err }

// CutStream is the error for a stream that ends before its terminal event. What
// came until then is never taken for an answer.
func CutStream(provider string) *Error {
	return &Error{
		Kind: Network, Retryable: true, Provider: provider,
		Message: "the answer broke off before its end",
	}
}
