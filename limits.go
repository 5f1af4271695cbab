package perdure

import (
	"fmt"
	"math"
	"time"
)

// KeyLimits bound what is done with one key. A member that is 0 sets no bound.
type KeyLimits struct {
	// RequestsPerSecond bounds requests, on each server process by itself. As
	// many may come at once after a pause. Heartbeats of workers do not count.
	RequestsPerSecond int64 `json:"requestsPerSecond,omitempty"`
	// MaxRunning bounds how many executions that were started with the key are
	// at work: not ended, and not waiting for a signal or a timer alone.
	MaxRunning int64 `json:"maxRunning,omitempty"`
	// MaxStored bounds the bytes of content that is kept of executions that were
	// started, and of streams that were made, with the key.
	MaxStored int64 `json:"maxStoredBytes,omitempty"`
}

// KeyUse is what counts against the limits of a key.
type KeyUse struct {
	Running int64 `json:"running"`
	Stored  int64 `json:"storedBytes"`
}

// Check refuses limits that are none. Error: invalid_argument.
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

// maxLimit is the largest whole number of a client that counts in 64-bit floats.
const maxLimit = 1<<53 - 1

// quotaPause is when to ask again for what depends on others' work ending.
const quotaPause = 5 * time.Second

// Run decides whether another execution may go to work. Error: rate_limited.
func (l KeyLimits) Run(u KeyUse) error {
	if l.MaxRunning == 0 || u.Running < l.MaxRunning {
		return nil
	}
	return &Error{Code: RateLimited, RetryAfter: quotaPause, Message: fmt.Sprintf(
		"%d executions of this key are at work, and %d may be; wait until one of them waits or ends, cancel one, or have an admin raise the limit (perdure keys set --max-running)",
		u.Running, l.MaxRunning)}
}

// Store decides whether that many bytes may be stored. What a running execution
// stores is counted, and never refused. Error: rate_limited.
func (l KeyLimits) Store(u KeyUse, more int64) error {
	if l.MaxStored == 0 || u.Stored <= l.MaxStored && more <= l.MaxStored-u.Stored {
		return nil
	}
	return &Error{Code: RateLimited, RetryAfter: time.Minute, Message: fmt.Sprintf(
		"%d bytes are stored with this key, %d more are asked for, and %d may be; delete streams, shorten how long ended executions are kept (retention), or have an admin raise the limit (perdure keys set --max-stored)",
		u.Stored, more, l.MaxStored)}
}

// Wait returns the pause after which a bucket that holds so many requests has one.
func (l KeyLimits) Wait(held float64) time.Duration {
	return time.Duration(math.Ceil((1 - held) / float64(l.RequestsPerSecond) * float64(time.Second)))
}
