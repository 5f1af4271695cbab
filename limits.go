package perdure

import (
	"fmt"
	"math"
	"time"
)

// KeyLimits are the limits of one API key. A value of 0 means no limit.
type KeyLimits struct {
	// RequestsPerSecond limits the rate of requests, separately on each server process. After a
	// pause, a burst of one second's requests is allowed. Heartbeats of workers are not counted.
	RequestsPerSecond int64 `json:"requestsPerSecond,omitempty"`
	// MaxRunning limits the number of running executions that the key started. An execution is running
	// unless it has ended or waits only for signals or timers.
	MaxRunning int64 `json:"maxRunning,omitempty"`
	// MaxStored limits the stored bytes of content of executions and streams that the key created.
	MaxStored int64 `json:"maxStoredBytes,omitempty"`
}

// KeyUse is how much of each limit a key uses.
type KeyUse struct {
	Running int64 `json:"running"`
	Stored  int64 `json:"storedBytes"`
}

// Check returns an error if a limit is invalid. Errors: invalid_argument.
func (l KeyLimits) Check() error {
	for _, one := range []struct {
		name  string
		value int64
	}{{"requestsPerSecond", l.RequestsPerSecond}, {"maxRunning", l.MaxRunning}, {"maxStoredBytes", l.MaxStored}} {
		if one.value < 0 || one.value > maxLimit {
			return FieldErrorf("limits."+one.name, "must be from 1 to %d, or 0 for no limit", int64(maxLimit))
		}
	}
	return nil
}

// maxLimit is the largest value that a limit may have. Clients that read JSON numbers as 64-bit
// floats read this value exactly.
const maxLimit = 1<<53 - 1

// quotaPause is the Error.RetryAfter if too many executions are running.
const quotaPause = 5 * time.Second

// Run checks whether the key may have one more running execution. Errors: rate_limited.
func (l KeyLimits) Run(u KeyUse) error {
	if l.MaxRunning == 0 || u.Running < l.MaxRunning {
		return nil
	}
	return &Error{Code: RateLimited, RetryAfter: quotaPause, Message: fmt.Sprintf(
		"%d executions of this key are at work, and %d may be; wait until one of them waits or ends, cancel one, or have an admin raise the limit (perdure keys set --max-running)",
		u.Running, l.MaxRunning)}
}

// Store checks whether the key may store the given number of further bytes. New content of a
// started execution is counted but never refused, so it is not checked with Store. Errors:
// rate_limited.
func (l KeyLimits) Store(u KeyUse, more int64) error {
	if l.MaxStored == 0 || u.Stored <= l.MaxStored && more <= l.MaxStored-u.Stored {
		return nil
	}
	return &Error{Code: RateLimited, RetryAfter: time.Minute, Message: fmt.Sprintf(
		"%d bytes are stored with this key, %d more are asked for, and %d may be; delete streams, shorten how long ended executions are kept (retention), or have an admin raise the limit (perdure keys set --max-stored)",
		u.Stored, more, l.MaxStored)}
}

// Wait returns the time until the key's token bucket holds a whole token. Each request takes one
// token. The parameter `held` is the part of a token that the bucket holds now.
func (l KeyLimits) Wait(held float64) time.Duration {
	return time.Duration(math.Ceil((1 - held) / float64(l.RequestsPerSecond) * float64(time.Second)))
}
