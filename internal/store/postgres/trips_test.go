package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/storetest"
)

// TestRoundTripsOfAStepAndATask checks that a step takes three round trips, and a dispatched task
// seven in two transactions.
func TestRoundTripsOfAStepAndATask(t *testing.T) {
	s := open(t, Options{without: without{texts: true}, Committers: 1})
	c := tripsOf(s)
	r := counttest.Claim(t, s)
	for _, one := range []struct {
		what string
		do   func(int)
		want int64
	}{{"step", r.Step, 3}, {"task", r.Task, 7}} {
		for i := range 20 {
			one.do(i) // prepares the statements
		}
		before := c.n.Load()
		one.do(20)
		if got := c.n.Load() - before; got != one.want {
			t.Errorf("a %s takes %d round trips, want %d", one.what, got, one.want)
		}
	}
	storetest.Invariants(t, s)
}
