package perdure

import (
	"slices"
	"strconv"
	"strings"
)

// RecordedWaits is the record of an execution's waits since its newest checkpoint. A function that
// is entered again reads this record, so that its waits have the same due times and outcomes as
// before. A checkpoint empties the record.
type RecordedWaits struct {
	// Dues are the due times of the timers in waits. Once the outcome of a wait is recorded, the due
	// times of its timers are removed.
	Dues []TimerDue `json:"dues,omitempty"`
	// Outcomes are the recorded outcomes of waits, one list for each name of a wait.
	Outcomes []WaitOutcomes `json:"outcomes,omitempty"`
}

// TimerDue is the due time of a timer that was set with a duration.
type TimerDue struct {
	Name string `json:"name"`
	At   Time   `json:"at"`
}

// WaitOutcomes contains the outcomes of all waits with one name, in the order in which the agent's
// function called these waits. An outcome is the index of the alternative that was met, or
// NoOutcome.
type WaitOutcomes struct {
	Name string `json:"name"`
	Of   []int  `json:"of"`
}

// NoOutcome stands for the outcome of a wait if none was recorded.
const NoOutcome = -1

// WaitChoice is the outcome of one wait: the index of the alternative that was met, from 0.
type WaitChoice struct {
	Name string
	// Number counts the waits with this name since the checkpoint, from 1.
	Number int
	Index  int
}

// Outcome returns the outcome of the wait with this name and number, or NoOutcome if none was recorded.
func (a RecordedWaits) Outcome(name string, number int) int {
	for _, o := range a.Outcomes {
		if o.Name == name && number >= 1 && number <= len(o.Of) {
			return o.Of[number-1]
		}
	}
	return NoOutcome
}

// maxWaitNumber is the maximum of WaitChoice.Number. The record has an element for every smaller
// number, so without the limit a caller could make the stored row arbitrarily large.
const maxWaitNumber = 1 << 20

// Check returns an error if the choice is invalid. Errors: invalid_argument.
func (c WaitChoice) Check() error {
	if c.Name == "" || len(c.Name) > maxTimerName || c.Number < 1 || c.Number > maxWaitNumber || c.Index < 0 {
		return FieldErrorf("chose", "a choice needs a name of 1 to %d characters, a number from 1 to %d and an index from 0", maxTimerName, maxWaitNumber)
	}
	return nil
}

// timerPrefix returns the common prefix of the names of a wait's timers.
func timerPrefix(name string, number int) string { return name + "#" + strconv.Itoa(number) + "." }

// TimerName returns the name of the nth timer in the wait with this name and number. Until the
// outcome of the wait is recorded, the timer's due time is stored under this name.
func TimerName(name string, number, n int) string { return timerPrefix(name, number) + strconv.Itoa(n) }

// With returns a copy of the record with the outcome c added, and without the due times of that
// wait's timers. An outcome that is already recorded is not replaced.
func (a RecordedWaits) With(c WaitChoice) RecordedWaits {
	outcomes := make([]WaitOutcomes, 0, len(a.Outcomes)+1)
	outcomes = append(outcomes, a.Outcomes...)
	i := 0
	for i < len(outcomes) && outcomes[i].Name != c.Name {
		i++
	}
	if i == len(outcomes) {
		outcomes = append(outcomes, WaitOutcomes{Name: c.Name})
	}
	of := append([]int(nil), outcomes[i].Of...)
	for len(of) < c.Number {
		of = append(of, NoOutcome)
	}
	if of[c.Number-1] == NoOutcome {
		of[c.Number-1] = c.Index
	}
	outcomes[i].Of = of
	a.Outcomes = outcomes
	prefix := timerPrefix(c.Name, c.Number)
	a.Dues = slices.DeleteFunc(slices.Clone(a.Dues), func(d TimerDue) bool { return strings.HasPrefix(d.Name, prefix) })
	return a
}

// Due returns the due time of the timer with the given name; false if none is stored.
func (a RecordedWaits) Due(name string) (Time, bool) {
	for _, d := range a.Dues {
		if d.Name == name {
			return d.At, true
		}
	}
	return Time{}, false
}
