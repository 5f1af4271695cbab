package sqlite

import (
	"testing"

	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/floodtest"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// TestOneOrgsRowsCostOthersNothing runs [floodtest.Run]. The cost is the number of steps of
// SQLite's virtual machine, which grows with the number of examined rows.
func TestOneOrgsRowsCostOthersNothing(t *testing.T) {
	longtest.Skip(t, "seconds")
	s := open(t, Options{})
	floodtest.Run(t, func(use func(store.Store)) int {
		before := s.steps()
		use(s)
		return s.steps() - before
	}, floodtest.Limits{Day: 1000, Command: 5000})
}

// steps returns how many steps the statements of all connections have taken.
func (s *Store) steps() int {
	total := 0
	for _, costs := range []map[string]connection.Cost{s.costs(), s.pool.Costs()} {
		for _, cost := range costs {
			total += cost.Steps
		}
	}
	return total
}
