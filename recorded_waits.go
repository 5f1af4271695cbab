package perdure

import (
	"slices"
	"strconv"
	"strings"
)

// Asked is the record of an execution's waits since its newest checkpoint. A function that is
// entered again reads from it, so its waits have the same due times and the same outcomes. A
// checkpoint clears it.
type Asked struct {
	// Dues are the due times of the timers of waits that have no recorded outcome.
	Dues []Due `json:"dues,omitempty"`
	// Outcomes are the recorded outcomes of earlier waits, one list per name.
	Outcomes []Outcomes `json:"outcomes,omitempty"`
}

// Due is the due time of a timer that was set by a duration.
type Due struct {
	Name string `json:"name"`
	At   Time   `json:"at"`
}

// Outcomes are the outcomes of the waits of one name, in the order of the calls.
type Outcomes struct {
	Name string `json:"name"`
	Of   []int  `json:"of"`
}

// NoOutcome is the outcome of a wait whose outcome was not recorded.
const NoOutcome = -1

// Choice is the outcome of one wait: the index of the chosen alternative, from 0.
type Choice struct {
	Name string
	// Number counts the waits of this name since the checkpoint, this wait included.
	Number int
	Index  int
}

// Outcome returns the outcome of the wait with the given name and number, or NoOutcome if it is
// unknown.
func (a Asked) Outcome(name string, number int) int {
	for _, o := range a.Outcomes {
		if o.Name == name && number >= 1 && number <= len(o.Of) {
			return o.Of[number-1]
		}
	}
	return NoOutcome
}

// maxAsked bounds Choice.Number. Gaps in a list are filled, so without the bound a caller could
// make the row as large as it likes.
const maxAsked = 1 << 20

// Check returns an error if the choice is invalid.
func (c Choice) Check() error {
	if c.Name == "" || len(c.Name) > maxTimerName || c.Number < 1 || c.Number > maxAsked || c.Index < 0 {
		return FieldErrorf("chose", "a choice needs a name of 1 to %d characters, a number from 1 to %d and an index from 0", maxTimerName, maxAsked)
	}
	return nil
}

// timerPrefix returns the common prefix of the names of a wait's timers.
func timerPrefix(name string, number int) string { return name + "#" + strconv.Itoa(number) + "." }

// TimerName returns the name of the nth timer of the wait with the given name and number. The
// timer's due time is stored under it until the wait's outcome is recorded.
func TimerName(name string, number, n int) string { return timerPrefix(name, number) + strconv.Itoa(n) }

// With returns a copy that includes the choice. An outcome that is already recorded is not
// replaced. The due times of the wait's timers are removed.
func (a Asked) With(c Choice) Asked {
	outcomes := make([]Outcomes, 0, len(a.Outcomes)+1)
	outcomes = append(outcomes, a.Outcomes...)
	i := 0
	for i < len(outcomes) && outcomes[i].Name != c.Name {
		i++
	}
	if i == len(outcomes) {
		outcomes = append(outcomes, Outcomes{Name: c.Name})
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
	a.Dues = slices.DeleteFunc(slices.Clone(a.Dues), func(d Due) bool { return strings.HasPrefix(d.Name, prefix) })
	return a
}

// Due returns the due time that is stored under the name.
func (a Asked) Due(name string) (Time, bool) {
	for _, d := range a.Dues {
		if d.Name == name {
			return d.At, true
		}
	}
	return Time{}, false
}
