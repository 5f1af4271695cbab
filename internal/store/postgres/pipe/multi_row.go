package pipe

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// multiRow contains the SQL that runs one declared statement for many rows of parameters. Each
// parameter is an array with a value for each row, or a single value if it is the same for all
// rows. Single values are faster, and most parameters are the same for all rows, such as the time
// or the status.
type multiRow struct {
	shape *shape
	types []uint32
	whole string // SQL in which all parameters are arrays

	mu      sync.Mutex
	narrows []*narrowStatement
	seen    int    // number of groups since the last call of think
	common  []bool // marks the parameters that had only one value in each of those groups
}

// narrowStatement is SQL for groups of rows in which certain parameters are equal in all rows. It
// sends these parameters as single values, and the others as arrays.
type narrowStatement struct {
	same  []bool
	n     int // number of parameters marked in same
	query string
	used  int // number of groups since the last call of think
}

const (
	// maxNarrows is the maximum number of narrowStatements for one multiRow. Every connection has
	// to plan each of them.
	maxNarrows = 4
	// learnGroups is the number of groups after which the method `think` looks for parameters that
	// were equal within each group. So many groups hardly have equal values by chance. Groups with
	// fewer than learnRows rows do not count.
	learnGroups, learnRows = 16, 4
	// worthColumns is the minimum number of parameters that a new narrowStatement must send as
	// single values, instead of arrays. Parameters that an existing narrowStatement already sends
	// as single values do not count.
	worthColumns = 2
)

// statementFor returns the SQL for rows of parameters, and the arguments. If `early` is set, a
// single group of any size suffices to add a narrowStatement.
func (m *multiRow) statementFor(rows [][]any, early bool) (query string, args []any) {
	learn, enough := learnGroups, learnRows
	if early {
		learn, enough = 1, 1
	}
	chosen := m.choose(sameIn(rows), len(rows) >= enough, learn)
	args = columns(rows)
	if chosen == nil {
		return m.whole, args
	}
	for i, is := range chosen.same {
		if is {
			args[i] = rows[0][i]
		}
	}
	return chosen.query, args
}

// choose returns the narrowStatement that can run a group of rows and sends the most parameters as
// single values; nil if there is none. The slice `same` marks the parameters that are equal in all
// rows of the group. If `telling` is set, the method `think` also learns from the group.
func (m *multiRow) choose(same []bool, telling bool, learn int) (best *narrowStatement) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.narrows {
		if within(n.same, same) && (best == nil || n.n > best.n) {
			best = n
		}
	}
	if best != nil {
		best.used++
	}
	if !telling {
		return best
	}
	if m.seen++; m.seen == 1 {
		m.common = append(m.common[:0], same...)
	} else {
		for i := range m.common {
			m.common[i] = m.common[i] && same[i]
		}
	}
	if m.seen >= learn {
		m.think()
	}
	return best
}

// think adds a narrowStatement that sends as single values the parameters that were equal within
// each of the last groups. It adds none if an existing narrowStatement sends nearly as many of them
// as single values. If there are already maxNarrows statements, the new one replaces the least used
// one.
func (m *multiRow) think() {
	m.seen = 0
	count := 0
	for _, is := range m.common {
		if is {
			count++
		}
	}
	for _, n := range m.narrows {
		if within(n.same, m.common) && count < n.n+worthColumns {
			count = 0
		}
	}
	if count >= worthColumns {
		made := &narrowStatement{same: append([]bool(nil), m.common...), n: count, query: m.shape.statement(m.types, m.common)}
		if len(m.narrows) < maxNarrows {
			m.narrows = append(m.narrows, made)
		} else {
			least := 0
			for i, n := range m.narrows {
				if n.used < m.narrows[least].used {
					least = i
				}
			}
			m.narrows[least] = made
		}
	}
	for _, n := range m.narrows {
		n.used = 0
	}
}

// within reports whether b[i] is set for every i for which a[i] is set.
func within(a, b []bool) bool {
	for i := range a {
		if a[i] && !b[i] {
			return false
		}
	}
	return true
}

// sameIn reports for each parameter whether it is equal in all rows. It never reports this for all
// parameters: at least one must be an array, because its length tells the database the number of
// rows.
func sameIn(rows [][]any) []bool {
	same := make([]bool, len(rows[0]))
	arrays := 0
	for i := range same {
		same[i] = true
		for _, row := range rows[1:] {
			if !equal(rows[0][i], row[i]) {
				same[i] = false
				arrays++
				break
			}
		}
	}
	if arrays == 0 {
		same[0] = false
	}
	return same
}

// equal reports whether two parameters are equal. If the comparison would be expensive, it returns
// false.
func equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case int64:
		v, is := b.(int64)
		return is && a == v
	case string:
		v, is := b.(string)
		return is && a == v
	case []byte:
		v, is := b.([]byte)
		return is && (a == nil) == (v == nil) && bytes.Equal(a, v)
	}
	return false
}

// of returns the cached multiRow of a statement. The first call for a statement asks the database
// for the types of the parameters.
func (g *Groups) of(ctx context.Context, conn *pgx.Conn, s *shape) (*multiRow, error) {
	if known, ok := g.made.Load(s.text); ok {
		return known.(*multiRow), nil
	}
	described, err := conn.PgConn().Prepare(ctx, "", s.text, nil)
	if err != nil {
		return nil, err
	}
	m := &multiRow{shape: s, types: described.ParamOIDs}
	m.whole = s.statement(m.types, make([]bool, len(m.types)))
	if m.whole == "" || len(m.types) != s.params {
		return nil, fmt.Errorf("a statement with %d parameters of the types %v cannot run for many rows: %s", s.params, m.types, s.text)
	}
	known, _ := g.made.LoadOrStore(s.text, m)
	return known.(*multiRow), nil
}
