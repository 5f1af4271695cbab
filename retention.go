package perdure

import (
	"strconv"
	"strings"
	"time"
)

// Period is how long something is kept. Zero is for ever.
type Period time.Duration

// Forever keeps what it is said of until somebody deletes it.
const Forever Period = 0

// Day is a day of 24 hours, for periods.
const Day = Period(24 * time.Hour)

const forever = "forever"

// ParsePeriod reads a period: "forever" (or "0"), or numbers with their units,
// d for days, h, m and s, like "30d" or "1d12h". Error: invalid_argument.
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

// maxPeriodDays bounds a period to a century, so that sums do not overflow.
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

// shortDuration leaves out the zeros at the end: 12h, not 12h0m0s.
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

// MarshalText writes what ParsePeriod reads.
func (p Period) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePeriod.
func (p *Period) UnmarshalText(text []byte) error {
	parsed, err := ParsePeriod(string(text))
	if err == nil {
		*p = parsed
	}
	return err
}

// Over reports whether what ended, or was made, at that time has been kept long
// enough.
func (p Period) Over(since, now Time) bool {
	return p != Forever && since.Add(time.Duration(p)).Reached(now)
}

// Retention says how long data is kept that no run needs any more. A nil field of a
// definition's Retention means the org's, a nil field of the org's the default.
type Retention struct {
	// Executions counts from the end of an execution, and deletes it with all
	// that belongs to it. Default: for ever.
	Executions *Period `json:"executions,omitempty"`
	// Checkpoints counts from the making of a checkpoint. The newest, where a
	// resume starts, is always kept. Default: 7 days.
	Checkpoints *Period `json:"checkpoints,omitempty"`
	// Logs counts from the end of an execution, and deletes its events and what
	// was streamed, all but the last event. Its entries stay. Default: for ever.
	Logs *Period `json:"logs,omitempty"`
}

// DefaultCheckpoints is how long checkpoints that others have followed are
// kept unless a policy says otherwise. Nothing resumes from them; a week is
// time to look into what went wrong.
const DefaultCheckpoints = 7 * Day

// Default fills in what is not said.
func (r Retention) Default() Retention {
	ever, week, same := Forever, DefaultCheckpoints, Forever
	return Retention{Executions: &ever, Checkpoints: &week, Logs: &same}.Merge(r)
}

// Merge returns r with every period that over sets replaced.
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

// IsZero reports whether it says nothing.
func (r Retention) IsZero() bool { return r == Retention{} }
