package llm

import (
	"errors"
	"fmt"
	"strings"
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

// shortestKey is the length, in bytes, from which a key is looked for in errors:
// a local server's key may be a word like "none".
const shortestKey = 8

// HideKey takes the key of a call out of its error. Providers, and proxies before
// them, repeat what they were sent, and the error is shown to people.
func HideKey(err *error, key string) {
	if *err == nil || len(key) < shortestKey {
		return
	}
	var said *Error
	if !errors.As(*err, &said) {
		if strings.Contains((*err).Error(), key) {
			*err = &Error{Kind: Unknown, Message: strings.ReplaceAll((*err).Error(), key, "[key]")}
		}
		return
	}
	hidden := *said
	hidden.Message = strings.ReplaceAll(said.Message, key, "[key]")
	if said.Err != nil && strings.Contains(said.Err.Error(), key) {
		hidden.Err = nil
	}
	*err = &hidden
}
