package perdure

import (
	"encoding/json"
	"testing"
	"time"
)

// TestPeriods checks that periods are parsed as people write them, and that a formatted period is
// parsed to the same value.
func TestPeriods(t *testing.T) {
	for text, want := range map[string]Period{
		"forever": Forever, "0": Forever, " Forever ": Forever, "30d": 30 * Day, "1d12h": Day + Day/2, "12h": Day / 2,
		"90m": Period(90 * time.Minute), "1500ms": Period(1500 * time.Millisecond), "0d1s": Period(time.Second),
	} {
		got, err := ParsePeriod(text)
		if err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
		again, err := ParsePeriod(got.String())
		if err != nil || again != got {
			t.Errorf("%q is written as %q, which is %v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "d", "-1d", "-5h", "1w", "30", "0s", "0d", "99999999d", "1d-3h", "never"} {
		if got, err := ParsePeriod(text); !IsCode(err, InvalidArgument) {
			t.Errorf("%q is %v, %v; want invalid_argument", text, got, err)
		}
	}
}

// TestRetentionMerges checks that Merge replaces only the fields that are set.
func TestRetentionMerges(t *testing.T) {
	day, ever := Day, Forever
	org := Retention{Executions: &day}.Default()
	if *org.Executions != Day || *org.Checkpoints != DefaultCheckpoints || *org.Logs != Forever {
		t.Errorf("the org's policy with defaults is %v, %v, %v", org.Executions, org.Checkpoints, org.Logs)
	}
	got := org.Merge(Retention{Executions: &ever, Logs: &day})
	if *got.Executions != Forever || *got.Checkpoints != DefaultCheckpoints || *got.Logs != Day {
		t.Errorf("merged it is %v, %v, %v", got.Executions, got.Checkpoints, got.Logs)
	}
	raw, err := json.Marshal(got)
	if err != nil || string(raw) != `{"executions":"forever","checkpoints":"7d","logs":"1d"}` {
		t.Errorf("as JSON it is %s, %v", raw, err)
	}
}

// TestAPeriodIsOver checks that Over is exact to the millisecond, and that Forever is never over.
func TestAPeriodIsOver(t *testing.T) {
	ended := AtMilli(1_000_000)
	for _, c := range []struct {
		period Period
		after  time.Duration
		want   bool
	}{
		{Day, 24*time.Hour - time.Millisecond, false},
		{Day, 24 * time.Hour, true},
		{Forever, 1000 * 24 * time.Hour, false},
	} {
		if got := c.period.Over(ended, ended.Add(c.after)); got != c.want {
			t.Errorf("%v is over after %v: %t", c.period, c.after, got)
		}
	}
}
