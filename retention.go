package perdure

import (
	"strconv"
	"strings"
	"time"
)

// Period is how long data is kept. Zero means forever.
type Period time.Duration

// Forever is the period of data that is kept until somebody deletes it.
const Forever Period = 0

// Day is a period of 24 hours.
const Day = Period(24 * time.Hour)

const forever = "forever"

// ParsePeriod parses a period: "forever", "0", or numbers with the units d (days), h, m and s, such
// as "30d" or "1d12h". Errors: invalid_argument.
func ParsePeriod(text string) (Period, error) {
	clean := strings.TrimSpace(strings.ToLower(text))
	if clean == forever || clean == "0" {
		return Forever, nil
	}
	var days int64
	rest := clean
	if number, after, found := strings.Cut(clean, "d"); found {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > maxPeriodDays {
			return 0, wrongPeriod(text)
		}
		days, rest = n, after
	}
	period := Period(days) * Day
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > time.Duration(maxPeriodDays)*time.Duration(Day) {
			return 0, wrongPeriod(text)
		}
		period += Period(d)
	}
	if period < Period(time.Millisecond) {
		return 0, wrongPeriod(text)
	}
	return period, nil
}

// maxPeriodDays limits a period to a century, so that the sum of a time and a period does not
// overflow.
const maxPeriodDays = 36_500

func wrongPeriod(text string) error {
	return Errorf(InvalidArgument, `%q is no period; write it like "30d", "12h" or "forever"`, text)
}

func (p Period) String() string {
	if p == Forever {
		return forever
	}
	text := ""
	if days := p / Day; days > 0 {
		text = strconv.FormatInt(int64(days), 10) + "d"
	}
	if rest := time.Duration(p % Day); rest > 0 {
		text += shortDuration(rest)
	}
	return text
}

// shortDuration formats d without zero units at the end: 12h, not 12h0m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText returns the period in the form that ParsePeriod parses.
func (p Period) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the period with ParsePeriod.
func (p *Period) UnmarshalText(text []byte) error {
	parsed, err := ParsePeriod(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// Over reports whether the period is over at the time `now`. The period begins at the time `since`.
func (p Period) Over(since, now Time) bool {
	return p != Forever && since.Add(time.Duration(p)).Reached(now)
}

// Retention defines how long the server keeps ended executions, old checkpoints and logs. A nil
// field in the Retention of a definition means the value of the org's Retention. A nil field in the
// org's Retention means the default.
type Retention struct {
	// Executions is the period from the end of an execution until it is deleted with all its data.
	// Default: forever.
	Executions *Period `json:"executions,omitempty"`
	// Checkpoints is the period from the creation of a checkpoint until it is deleted. The newest
	// checkpoint, where a resume starts, is always kept. Default: 7 days.
	Checkpoints *Period `json:"checkpoints,omitempty"`
	// Logs is the period from the end of an execution until its events and streamed blocks are
	// deleted, except the last event. The entries of the conversation are kept. Default: forever.
	Logs *Period `json:"logs,omitempty"`
}

// DefaultCheckpoints is the default period of checkpoints other than the newest. No execution
// resumes from these checkpoints; they help to analyse problems.
const DefaultCheckpoints = 7 * Day

// Default returns a copy of r in which nil fields have the default values.
func (r Retention) Default() Retention {
	ever, week, same := Forever, DefaultCheckpoints, Forever
	return Retention{Executions: &ever, Checkpoints: &week, Logs: &same}.Merge(r)
}

// Merge returns a copy of r in which each period that is set in the argument replaces the period of
// r.
func (r Retention) Merge(over Retention) Retention {
	if over.Executions != nil {
		r.Executions = over.Executions
	}
	if over.Checkpoints != nil {
		r.Checkpoints = over.Checkpoints
	}
	if over.Logs != nil {
		r.Logs = over.Logs
	}
	return r
}

// IsZero reports whether no field is set.
func (r Retention) IsZero() bool { return r == Retention{} }
