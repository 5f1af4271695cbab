package postgres

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// TestRoundTripsOfStarts checks that a hundred starts in one batch, like one start, take at most
// three round trips. The first one locks and reads the executions and reads the time. The second
// one reads what each command needs. The third one sends all writes with the COMMIT.
func TestRoundTripsOfStarts(t *testing.T) {
	s := open(t, Options{without: optimizations{texts: true}, Committers: 1})
	c := tripsOf(s)
	starts := func(n int) []func(context.Context) error {
		calls := make([]func(context.Context) error, n)
		for i := range calls {
			calls[i] = func(ctx context.Context) error { return start(ctx, s, uuid.New()) }
		}
		return calls
	}
	together(t, s, c, starts(100)) // this call prepares the statements
	for _, n := range []int{1, 100} {
		if got := together(t, s, c, starts(n)); got > 3 {
			t.Errorf("%d starts take %d round trips", n, got)
		}
	}
	invariants.Check(t, s)
}
