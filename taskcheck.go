package perdure

import (
	"slices"
	"time"
	"unicode/utf8"
)

const (
	maxTaskName         = 512 // characters of a key, an instance, a concurrency key or a queue
	maxAttempts         = 1_000
	maxConcurrencyLimit = 10_000
	// maxTaskDuration is longer than any duration that an option needs, and so short that adding it to
	// a time cannot overflow.
	maxTaskDuration = 10 * 365 * 24 * time.Hour
)

// Check returns an error if an option is invalid. The error is invalid_argument, and its field name
// begins with the prefix `at`.
func (o TaskOptions) Check(at string) error {
	if at != "" {
		at += "."
	}
	for _, check := range []func(string) error{o.checkNames, o.checkNumbers, o.checkDurations} {
		if err := check(at); err != nil {
			return err
		}
	}
	switch o.OnLost {
	case "", OnLostRetry, OnLostReport:
	default:
		return FieldErrorf(at+"onLost", "must be retry or report, not %q", o.OnLost)
	}
	if o.Compacts != "" && !slices.Contains(compactionReasons, o.Compacts) {
		return FieldErrorf(at+"compacts", "must be the reason of a compaction, not %q", clip(string(o.Compacts)))
	}
	if o.Net != "" && !slices.Contains(nets, o.Net) {
		return FieldErrorf(at+"net", "must be open, loopback or none, not %q", clip(o.Net))
	}
	if o.Requires != "" && o.Requires != RequiresConfined {
		return FieldErrorf(at+"requires", "must be %s, not %q", RequiresConfined, clip(o.Requires))
	}
	if o.KeyTTL > 0 && o.Key == "" {
		return FieldErrorf(at+"keyTtl", "bounds the life of a key of the caller's own; give key, too")
	}
	if o.ConcurrencyLimit > 0 && o.ConcurrencyKey == "" {
		return FieldErrorf(at+"concurrencyLimit", "belongs to a concurrencyKey; give that, too")
	}
	return nil
}

func (o TaskOptions) checkNames(at string) error {
	for _, f := range []struct{ name, value string }{
		{"queue", o.Queue}, {"instance", o.Instance}, {"key", o.Key}, {"concurrencyKey", o.ConcurrencyKey},
	} {
		if err := CheckText(at+f.name, f.value); err != nil {
			return err
		}
		if utf8.RuneCountInString(f.value) > maxTaskName {
			return FieldErrorf(at+f.name, "has more than %d characters", maxTaskName)
		}
	}
	return nil
}

func (o TaskOptions) checkNumbers(at string) error {
	switch {
	case o.Priority != nil && (*o.Priority < 0 || *o.Priority > 9):
		return FieldErrorf(at+"priority", "must be 0 (first) to 9, not %d", *o.Priority)
	case o.MaxAttempts < 0 || o.MaxAttempts > maxAttempts:
		return FieldErrorf(at+"maxAttempts", "must be 0 (the default) to %d, not %d", maxAttempts, o.MaxAttempts)
	case o.ConcurrencyLimit < 0 || o.ConcurrencyLimit > maxConcurrencyLimit:
		return FieldErrorf(at+"concurrencyLimit", "must be 1 to %d, not %d", maxConcurrencyLimit, o.ConcurrencyLimit)
	}
	return nil
}

func (o TaskOptions) checkDurations(at string) error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"backoffBase", o.BackoffBase},
		{"backoffMax", o.BackoffMax},
		{"scheduleToClose", o.ScheduleToClose},
		{"attemptTimeout", o.AttemptTimeout},
		{"heartbeatTimeout", o.HeartbeatTimeout},
		{"keyTtl", o.KeyTTL},
	} {
		if f.value < 0 || f.value > maxTaskDuration {
			return FieldErrorf(at+f.name, "must be 0 to 10 years, not %s", f.value)
		}
	}
	return nil
}

// Tries returns the number of attempts that count against MaxAttempts.
func (t *Task) Tries() int { return t.Attempt - t.Uncounted }

// AttemptDue returns the time at which the running attempt exceeds AttemptTimeout or HeartbeatTimeout.
// It returns false if neither limit is set, or if the task is not RUNNING.
func (t *Task) AttemptDue() (Time, bool) {
	var due Time
	if o := t.Options; o.AttemptTimeout > 0 {
		due = t.AttemptAt.Add(o.AttemptTimeout)
	}
	if silent := t.Options.HeartbeatTimeout; silent > 0 {
		if by := t.SignAt.Add(silent); due.IsZero() || by.Before(due.Time) {
			due = by
		}
	}
	return due, !due.IsZero() && t.Status == TaskRunning
}
