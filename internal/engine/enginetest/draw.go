package enginetest

import (
	"flag"
	"math/bits"
	"testing"

	"github.com/perdure/perdure"
	"pgregory.net/rapid"
)

// inRapid is a testing.TB whose failures and cleanups belong to one run of a rapid property. Each
// run has its own store.
type inRapid struct {
	testing.TB
	r *rapid.T
}

func (t inRapid) Cleanup(f func())                  { t.r.Cleanup(f) }
func (t inRapid) Errorf(format string, args ...any) { t.r.Errorf(format, args...) }
func (t inRapid) Fatalf(format string, args ...any) { t.r.Fatalf(format, args...) }
func (t inRapid) Error(args ...any)                 { t.r.Error(args...) }
func (t inRapid) Fatal(args ...any)                 { t.r.Fatal(args...) }

// usually sets a flag of package rapid for the duration of a test, unless the flag is set on the
// command line.
func usually(t *testing.T, name, value string) {
	t.Helper()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	if given {
		return
	}
	current := flag.Lookup(name).Value
	usual := current.String()
	set := func(value string) {
		if err := current.Set(value); err != nil { // flag.Set would mark the flag as set on the command line
			t.Fatal(err)
		}
	}
	set(value)
	t.Cleanup(func() { set(usual) })
}

var bit = rapid.Bool()

// below draws a number from 0 to n-1. Rapid's own ranges and samples prefer the first and the last
// value, but here all values should be equally probable. If n is not a power of two, below draws
// two more bits than needed, so that the distribution is almost even.
func below(t *rapid.T, label string, n int) int {
	width, drawn := bits.Len(uint(n-1)), 0
	if n&(n-1) != 0 {
		width += 2
	}
	for range width {
		drawn *= 2
		if bit.Draw(t, label) {
			drawn++
		}
	}
	return drawn % n
}

// one draws an element of a list. All elements are about equally probable.
func one[E any](t *rapid.T, label string, from []E) E {
	return from[below(t, label, len(from))]
}

// sometimes returns true with a probability of about 1/n.
func sometimes(t *rapid.T, label string, n int) bool { return below(t, label, n) == n-1 }

// recent draws an element of a list, mostly one of the last three.
func recent[E any](t *rapid.T, label string, from []E) E {
	return prefer(t, label, from[max(0, len(from)-3):], from)
}

// prefer draws an element, mostly from the list `these`, and sometimes from the list `all`.
func prefer[E any](t *rapid.T, label string, these, all []E) E {
	if len(these) > 0 && !sometimes(t, "an old "+label, 6) {
		return one(t, label, these)
	}
	return one(t, label, all)
}

// claim draws the lease of an execution's claim: mostly of a valid claim, sometimes of one that has
// ended.
func (m *machine) claim(t *rapid.T) perdure.Lease {
	var held []perdure.Lease
	for _, l := range m.claims {
		if m.of(l.ExecutionID).holds(l) {
			held = append(held, l)
		}
	}
	return prefer(t, "claim", held, m.claims)
}

// attempt draws the lease of a task's attempt: mostly of a running attempt, sometimes of one that has
// ended.
func (m *machine) attempt(t *rapid.T) perdure.TaskLease {
	var held []perdure.TaskLease
	for _, l := range m.attempts {
		if m.of(l.ExecutionID).tasks[l.TaskID].heldBy(l) {
			held = append(held, l)
		}
	}
	return prefer(t, "attempt", held, m.attempts)
}
