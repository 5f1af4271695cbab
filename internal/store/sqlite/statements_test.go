package sqlite

import (
	"maps"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/store/counttest"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
)

// costs returns the costs of the statements of the writing connection.
func (s *Store) costs() map[string]connection.Cost {
	s.committer.deciding.Lock() // the committer may still be running
	defer s.committer.deciding.Unlock()
	return s.committer.conn.Costs()
}

// written returns how often the writing connection has run each kind of statement. A kind is the
// first two or three words of the statement.
func (s *Store) written() map[string]int {
	runs := map[string]int{}
	for query, cost := range s.costs() {
		words := strings.Fields(query)
		runs[strings.Join(words[:min(3, len(words))], " ")] += cost.Runs
	}
	return runs
}

// TestStatementsOfAStepAndATask checks which statements a step and a dispatched task run: two
// writes for a step, and eleven writes in two transactions for a task. They read no rows, because
// the committer caches the rows that it has written. A webhook of another org must not change these
// numbers.
func TestStatementsOfAStepAndATask(t *testing.T) {
	t.Run("without webhooks", func(t *testing.T) {
		statementsOfAStepAndATask(t, open(t, Options{without: optimizations{texts: true}}))
	})
	t.Run("with another org's webhook", func(t *testing.T) {
		s := open(t, Options{without: optimizations{texts: true}})
		counttest.Webhook(t, s, "other")
		statementsOfAStepAndATask(t, s)
	})
}

func statementsOfAStepAndATask(t *testing.T, s *Store) {
	r := counttest.Claim(t, s)
	const n = 20
	for what, one := range map[string]struct {
		do   func(int)
		want map[string]int
	}{
		"step": {r.Step, map[string]int{
			"BEGIN IMMEDIATE": 1, "COMMIT": 1, "UPDATE agent_execution SET": 1, "INSERT INTO task_execution": 1,
		}},
		"task": {r.Task, map[string]int{
			"BEGIN IMMEDIATE": 2, "COMMIT": 2, "UPDATE agent_execution SET": 2, "UPDATE log_head SET": 2,
			"INSERT INTO task_execution": 1, "UPDATE task_execution SET": 1, "INSERT INTO log_record": 5,
		}},
	} {
		t.Run(what, func(t *testing.T) {
			one.do(0) // this call fills the caches
			before := s.written()
			for i := range n {
				one.do(i + 1)
			}
			got := s.written()
			for query, runs := range got {
				if got[query] = (runs - before[query]) / n; runs == before[query] {
					delete(got, query)
				}
			}
			if !maps.Equal(got, one.want) {
				t.Errorf("each of them runs %v, want %v", got, one.want)
			}
		})
	}
}
