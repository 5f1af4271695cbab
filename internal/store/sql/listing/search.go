package listing

import (
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/sql/load"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// listStep is the maximum number of candidates that one read transaction examines. Between two such
// transactions, other orgs can use the connections.
const listStep = 2000

// ListedExecution is an execution with its number. Lists are ordered by this number.
type ListedExecution struct {
	Number int64
	Row    *perdure.Execution
}

// Search is the state of a search through the executions of an org: where it continues, and how much
// it may still examine.
type Search struct {
	*Query
	Found []ListedExecution
	Want  int
	// Before is the number of the last examined candidate. The search continues below it.
	Before int64
	// Step is the number of candidates that the next read examines. Left is the number of candidates
	// that the whole search may still examine.
	Step, Left int
}

// Examine examines the next candidates, and reports whether there are no further candidates.
func (s *Search) Examine(v statement.View) (ended bool, err error) {
	if err := s.begin(v, s.Before); err != nil {
		return false, err
	}
	if len(s.where) > 0 {
		s.Step = max(s.Step, 200)
	}
	c, err := s.candidates(v, s.Before, min(s.Step, s.Left, listStep))
	if err != nil {
		return false, err
	}
	numbers, err := s.matching(v, c.numbers)
	if err != nil {
		return false, err
	}
	if room := s.Want - len(s.Found); len(numbers) > room {
		numbers, c.ended = numbers[:room], false
		c.upto = numbers[room-1]
	}
	more, err := loadListed(v, s.org, numbers)
	s.Found = append(s.Found, more...)
	s.Before, s.Left, s.Step = c.upto, s.Left-c.cost, 4*s.Step
	return c.ended, err
}

func listedByNumber(w *statement.Dialect) *statement.Statement {
	return statement.NewAlone("SELECT x.number, coalesce(h.last_seq, 0), " + load.ExecutionRows.List("x") +
		" FROM " + w.AmongNumbers("agent_execution", "x", "org_id") + " LEFT JOIN log_head h ON h.agent_execution_id = x.id WHERE " + load.Hidden)
}

// loadListed returns the executions with the given numbers, newest first. It leaves out executions
// that are being deleted.
func loadListed(v statement.View, org string, numbers []int64) (found []ListedExecution, err error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	list, err := v.Dialect.Numbers(numbers)
	if err != nil {
		return nil, err
	}
	err = v.Each(listedByNumber(v.Dialect), []any{org, list}, func(row func(...any) error) error {
		var (
			x      perdure.Execution
			number int64
		)
		err := row(load.ExecutionRows.Scan([]any{&number, &x.MaxSeq}, &x)...)
		x.InputBlob, x.OutputBlob = nil, nil
		found = append(found, ListedExecution{number, &x})
		return err
	})
	slices.SortFunc(found, func(a, b ListedExecution) int { return newestFirst(a.Number, b.Number) })
	return found, err
}

// numberedFrom numbers the ? parameters of a condition consecutively, starting with n.
func numberedFrom(condition string, n int) string {
	var b strings.Builder
	for i, part := range strings.Split(condition, "?") {
		if i > 0 {
			b.WriteString("?" + strconv.Itoa(n+i-1))
		}
		b.WriteString(part)
	}
	return b.String()
}
