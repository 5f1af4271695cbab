package llm

import (
	"fmt"
	"time"
)

// ErrorKind says why a model call failed.
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
	// ContextLength is the kind of an error for a request that does not fit into the model's
	// context window.
	ContextLength ErrorKind = "context_length"
	// RuleBroken is the kind of an error for a request that was not sent, because it breaks one of the
	// provider's rules. Err is a *RuleError.
	RuleBroken ErrorKind = "rule_broken"
	Refused    ErrorKind = "refused"
	Unknown    ErrorKind = "unknown"
)

// Error is the error of a failed model call.
type Error struct {
	Kind ErrorKind
	// Retryable reports whether the same call may succeed later.
	Retryable bool
	// RetryAfter is the pause that the provider requests before a retry; 0 if it requests none.
	RetryAfter time.Duration
	Provider   string
	// Status is the HTTP status of the response; 0 if there was no response.
	Status int
	// Message is safe to show to people. It contains no API key and no internal details.
	Message string
	// Err is the cause, only for logs.
	Err error
}

func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("%s: %s (%s, status %d)", e.Provider, e.Message, e.Kind, e.Status)
	}
	return fmt.Sprintf("%s: %s (%s)", e.Provider, e.Message, e.Kind)
}

func (e *Error) Unwrap() error { return e.Err }

// CutStream returns the retryable error for a stream that ended before its terminal event. A
// provider must return this error instead of the content received so far.
func CutStream(provider string) *Error {
	return &Error{
		Kind: Network, Retryable: true, Provider: provider,
		Message: "the answer broke off before its end",
	}
}
