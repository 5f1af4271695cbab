package perdure

import (
	"testing"
	"time"
)

func TestTimersByDuration(t *testing.T) {
	now := AtMilli(1_000_000)
	asked := RecordedWaits{Dues: []TimerDue{{"known", AtMilli(5)}}}
	tree := WaitAny(WaitAll(WaitAfter("new", time.Second), WaitSignal("s")), WaitAfter("known", time.Hour), WaitUntil(AtMilli(7)))
	got, kept := tree.At(now, asked)
	if due := got.Any[0].All[0].Timer; due == nil || !due.Equal(now.Add(time.Second).Time) {
		t.Errorf("the new timer is due at %v", due)
	}
	if due := got.Any[1].Timer; due == nil || !due.Equal(AtMilli(5).Time) {
		t.Errorf("the known timer is due at %v", due)
	}
	if due := got.Any[2].Timer; !due.Equal(AtMilli(7).Time) || got.Any[0].All[1].Signal != "s" {
		t.Errorf("what is no such timer changed: %+v", got)
	}
	if len(kept.Dues) != 2 || len(asked.Dues) != 1 || tree.Any[1].After != time.Hour {
		t.Errorf("kept %+v of %+v, from %+v", kept, asked, tree)
	}
	if next, ok := got.NextTimer(); !ok || !next.Equal(AtMilli(5).Time) {
		t.Errorf("the next timer is %s", next)
	}
	// A timer with a duration of zero is due at once.
	if soon, _ := WaitAfter("zero", 0).At(now, RecordedWaits{}); !soon.Timer.Reached(now) {
		t.Errorf("a timer of no duration is due at %s, now is %s", soon.Timer, now)
	}
}

func TestWaitsAfterAreChecked(t *testing.T) {
	due := AtMilli(1)
	for name, w := range map[string]Wait{
		"no name": {After: time.Second}, "before": {After: -1, Name: "n"}, "two kinds": {After: 1, Name: "n", Timer: &due},
	} {
		if err := w.Check(); !IsCode(err, InvalidArgument) {
			t.Errorf("%s gives %v", name, err)
		}
	}
	if err := WaitAfter("n", time.Second).Check(); err != nil {
		t.Error(err)
	}
}

func TestOutcomes(t *testing.T) {
	var a RecordedWaits
	a.Dues = []TimerDue{{TimerName("w", 1, 0), AtMilli(1)}, {TimerName("w", 12, 0), AtMilli(2)}, {TimerName("v", 1, 0), AtMilli(3)}}
	b := a.With(WaitChoice{"w", 3, 2}).With(WaitChoice{"w", 1, 5}).With(WaitChoice{"w", 1, 6}).With(WaitChoice{"v", 1, 0})
	for _, want := range []struct {
		name          string
		number, index int
	}{{"w", 1, 5}, {"w", 2, NoOutcome}, {"w", 3, 2}, {"w", 4, NoOutcome}, {"w", 0, NoOutcome}, {"v", 1, 0}, {"x", 1, NoOutcome}} {
		if got := b.Outcome(want.name, want.number); got != want.index {
			t.Errorf("%s %d came to %d, want %d", want.name, want.number, got, want.index)
		}
	}
	if len(b.Dues) != 1 || b.Dues[0].Name != "w#12.0" || len(a.Dues) != 3 || len(a.Outcomes) != 0 {
		t.Errorf("left of the due times: %+v; before: %+v", b.Dues, a)
	}
}
