package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// TestRoundTripsOfAStepAndATask checks that a step takes three round trips, and a dispatched task
// seven in two transactions. A webhook of another org must not change these numbers.
func TestRoundTripsOfAStepAndATask(t *testing.T) {
	for what, webhook := range map[string]bool{"without webhooks": false, "with another org's webhook": true} {
		t.Run(what, func(t *testing.T) {
			s := open(t, Options{without: optimizations{texts: true}, Committers: 1})
			c := tripsOf(s)
			if webhook {
				counttest.Webhook(t, s, "other")
			}
			roundTripsOfAStepAndATask(t, s, c)
		})
	}
}

func roundTripsOfAStepAndATask(t *testing.T, s *Store, c *tripCounter) {
	r := counttest.Claim(t, s)
	for _, one := range []struct {
		what string
		do   func(int)
		want int64
	}{{"step", r.Step, 3}, {"task", r.Task, 7}} {
		for i := range 20 {
			one.do(i) // this call prepares the statements
		}
		before := c.n.Load()
		one.do(20)
		if got := c.n.Load() - before; got != one.want {
			t.Errorf("a %s takes %d round trips, want %d", one.what, got, one.want)
		}
	}
	invariants.Check(t, s)
}
