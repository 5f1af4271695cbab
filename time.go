package perdure

import (
	"fmt"
	"time"
)

// wireTime is the layout of a Time as text: RFC 3339 in UTC with milliseconds.
const wireTime = "2006-01-02T15:04:05.000Z"

// Time is a point in time by the clock of the store. As text, a Time is written as RFC 3339 in UTC
// with milliseconds.
type Time struct{ time.Time }

// At converts t to a Time in UTC. It truncates t to milliseconds, the precision of the store.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// AtMilli converts a number of milliseconds since the Unix epoch to a Time.
func AtMilli(ms int64) Time { return Time{time.UnixMilli(ms).UTC()} }

// Add returns t plus d, truncated to milliseconds.
func (t Time) Add(d time.Duration) Time { return At(t.Time.Add(d)) }

// Reached reports whether the time `now` is t or later.
func (t Time) Reached(now Time) bool { return !now.Before(t.Time) }

func (t Time) String() string { return t.UTC().Format(wireTime) }

func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

func (t *Time) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return fmt.Errorf("a time must be RFC 3339, like %s", wireTime)
	}
	*t = At(parsed)
	return nil
}

func (t *Time) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if len(text) < 2 || text[0] != '"' {
		return fmt.Errorf("a time must be a string in RFC 3339")
	}
	return t.UnmarshalText(text[1 : len(text)-1])
}
