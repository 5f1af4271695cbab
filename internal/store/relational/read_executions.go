package relational

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// listStep is the maximum number of candidates that one read examines. Between two reads, other
// orgs can use the connections.
const listStep = 2000

// listedExecution is an execution with its number, which is its position in the list.
type listedExecution struct {
	number int64
	row    *perdure.Execution
}

// Executions implements [store.Reader].
func (r *Reader) Executions(ctx context.Context, org string, f store.ExecutionFilter) (store.Page[*perdure.Execution], error) {
	var page store.Page[*perdure.Execution]
	before, err := parseListCursor(f.Cursor, math.MaxInt64)
	if err != nil {
		return page, err
	}
	limit := pageLimit(f.Limit)
	l := newListing(r.Dialect, org, f, r.listRows())
	l.plain = r.WithoutTexts
	found, next, err := r.search(ctx, l, before, limit+1)
	if err != nil {
		return page, err
	}
	if len(found) > limit {
		found, next = found[:limit], found[limit-1].number
	}
	for _, x := range found {
		page.Items = append(page.Items, x.row)
	}
	if next > 0 {
		page.Next = listCursor(next)
	}
	return page, nil
}

func (r *Reader) listRows() int { return cmp.Or(r.ListRows, store.ListRows) }

// search is the state of a list that is being read.
type search struct {
	*listing
	found []listedExecution
	want  int
	// before is the last examined candidate.
	before int64
	// step is how many candidates are examined next. left is how many may still be examined.
	step, left int
}

// search finds up to want executions with numbers below before. It examines at most listing.rows
// candidates. next is the last examined candidate if there may be more, otherwise 0.
func (r *Reader) search(ctx context.Context, l *listing, before int64, want int) (found []listedExecution, next int64, err error) {
	s := &search{listing: l, want: want, before: before, step: want, left: l.rows}
	for len(s.found) < want && s.left > 0 {
		ended := false
		err := r.read(ctx, func(v view) (err error) {
			ended, err = s.examine(v)
			return err
		})
		if err != nil || ended {
			return s.found, 0, err
		}
	}
	return s.found, s.before, nil
}

// examine examines some candidates, and reports whether there are no more.
func (s *search) examine(v view) (ended bool, err error) {
	if err := s.begin(v, s.before); err != nil {
		return false, err
	}
	if len(s.where) > 0 {
		s.step = max(s.step, 200)
	}
	c, err := s.candidates(v, s.before, min(s.step, s.left, listStep))
	if err != nil {
		return false, err
	}
	numbers, err := s.matching(v, c.numbers)
	if err != nil {
		return false, err
	}
	if room := s.want - len(s.found); len(numbers) > room {
		numbers, c.ended = numbers[:room], false
		c.upto = numbers[room-1]
	}
	more, err := loadListed(v, s.org, numbers)
	s.found = append(s.found, more...)
	s.before, s.left, s.step = c.upto, s.left-c.cost, 4*s.step
	return c.ended, err
}

func listedByNumber(w *Dialect) *Statement {
	return Alone("SELECT x.number, coalesce(h.last_seq, 0), " + executions.list("x") +
		" FROM agent_execution x LEFT JOIN log_head h ON h.agent_execution_id = x.id" +
		" WHERE x.org_id = ?1 AND x.number " + w.AmongNumbers + " AND " + hidden)
}

// loadListed returns the executions with these numbers, newest first, without those that are being
// deleted.
func loadListed(v view, org string, numbers []int64) (found []listedExecution, err error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	list, err := v.Dialect.Numbers(numbers)
	if err != nil {
		return nil, err
	}
	err = v.each(listedByNumber(v.Dialect), []any{org, list}, func(row func(...any) error) error {
		var (
			x      perdure.Execution
			number int64
		)
		err := row(executions.scan([]any{&number, &x.MaxSeq}, &x)...)
		x.InputBlob, x.OutputBlob = nil, nil
		found = append(found, listedExecution{number, &x})
		return err
	})
	slices.SortFunc(found, func(a, b listedExecution) int { return newestFirst(a.number, b.number) })
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

func queryTexts(query string) (plain, escaped string) {
	plain = lowerASCII(query)
	quoted, err := json.Marshal(query)
	if err != nil {
		return plain, plain // a string can always be encoded
	}
	return plain, lowerASCII(string(quoted[1 : len(quoted)-1]))
}

// lowerASCII converts ASCII letters to lower case, like SQLite's lower.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
