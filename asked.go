package perdure

import (
	"slices"
	"strconv"
	"strings"
)

// Asked is what an execution keeps of the waits that were asked for since its
// newest checkpoint, so that a function that is entered again comes to the same
// moments and the same outcomes. A checkpoint clears it.
type Asked struct {
	// Dues are the first due times of the timers of waits whose outcome is not
	// recorded.
	Dues []Due `json:"dues,omitempty"`
	// Outcomes are what earlier waits came to, a list for each name.
	Outcomes []Outcomes `json:"outcomes,omitempty"`
}

// Due is when a timer is due that was asked for by its duration.
type Due struct {
	Name string `json:"name"`
	At   Time   `json:"at"`
}

// Outcomes are what the waits of one name came to, in the order asked.
type Outcomes struct {
	Name string `json:"name"`
	Of   []int  `json:"of"`
}

// NoOutcome stands for a wait whose outcome was not recorded.
const NoOutcome = -1

// Choice is what one wait came to: which of several things, counted from 0.
type Choice struct {
	Name string
	// Number says how often the name was asked for since the checkpoint, this
	// time included.
	Number int
	Index  int
}

// Outcome returns what the numbered wait of a name came to, NoOutcome if that is
// not known.
func (a Asked) Outcome(name string, number int) int {
	for _, o := range a.Outcomes {
		if o.Name == name && number >= 1 && number <= len(o.Of) {
			return o.Of[number-1]
		}
	}
	return NoOutcome
}

// maxAsked bounds the number of a choice: a gap is filled up, and no caller may
// make the row as large as it likes.
const maxAsked = 1 << 20

// Check tells what is wrong with a choice.
func (c Choice) Check() error {
	if c.Name == "" || len(c.Name) > maxTimerName || c.Number < 1 || c.Number > maxAsked || c.Index < 0 {
		return FieldErrorf("chose", "a choice needs a name of 1 to %d characters, a number from 1 to %d and an index from 0", maxTimerName, maxAsked)
	}
	return nil
}

// timerPrefix begins the names of a wait's timers.
func timerPrefix(name string, number int) string { return name + "#" + strconv.Itoa(number) + "." }

// TimerName names the nth timer of the numbered wait of a name: its due time is
// kept until the wait's outcome is recorded.
func TimerName(name string, number, n int) string { return timerPrefix(name, number) + strconv.Itoa(n) }

// With returns a copy that knows the choice, too. What is known already stays; due
// times of the wait are not needed any more.
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

// Due returns the due time that is kept under a name.
func (a Asked) Due(name string) (Time, bool) {
	for _, d := range a.Dues {
		if d.Name == name {
			return d.At, true
		}
	}
	return Time{}, false
}
