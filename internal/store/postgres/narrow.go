package postgres

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// many is how the rows of one statement are written with one: each parameter as an
// array, or, where it is the same for all rows, once. Most are: the moment, the
// status, what is NULL. An array costs for each of its values, here and there.
type many struct {
	shape *shape
	types []uint32
	whole string // with arrays alone; "" if there is none

	mu      sync.Mutex
	narrows []*narrow
	seen    int    // groups since narrows were last thought of
	common  []bool // parameters that were the same for all rows in each of those
}

// narrow is a statement for rows that have the same values of some parameters.
type narrow struct {
	same  []bool
	n     int // how many those are
	query string
	used  int // by groups since narrows were last thought of
}

const (
	// maxNarrows bounds the statements that every connection has to plan.
	maxNarrows = 4
	// learnGroups is of how many groups is learnt what is the same, and learnRows
	// how many rows one has that something is learnt of: what is the same by chance
	// is not the same in all of them.
	learnGroups, learnRows = 16, 4
	// worthColumns is by how many parameters a new statement has to be better.
	worthColumns = 2
)

// statementFor returns the statement for rows, and its parameters. With early set, it
// learns of each group at once.
func (m *many) statementFor(rows [][]any, early bool) (query string, args []any) {
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

// choose returns the narrowest statement that fits, nil if none does, and learns.
func (m *many) choose(same []bool, telling bool, learn int) (best *narrow) {
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

// think makes a statement for what the last groups had in common, if none of those
// that there are is about as good, in place of the one that was used least.
func (m *many) think() {
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
		made := &narrow{same: append([]bool(nil), m.common...), n: count, query: m.shape.statement(m.types, m.common)}
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

// within reports whether all of a are in b.
func within(a, b []bool) bool {
	for i := range a {
		if a[i] && !b[i] {
			return false
		}
	}
	return true
}

// sameIn reports which parameters are the same in all rows; never all of them, since
// one array says how many rows there are.
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

// equal reports whether two parameters are; false where that would have to be found
// out.
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

// of returns how many rows of a shape are written or read with one statement. The
// first time it asks the database what types the parameters are.
func (g *grouped) of(ctx context.Context, conn *pgx.Conn, query string, s *shape) (*many, error) {
	if known, ok := g.made.Load(query); ok {
		return known.(*many), nil
	}
	described, err := conn.PgConn().Prepare(ctx, "", translate(query), nil)
	if err != nil {
		return nil, err
	}
	m := &many{shape: s, types: described.ParamOIDs}
	m.whole = s.statement(m.types, make([]bool, len(m.types)))
	known, _ := g.made.LoadOrStore(query, m)
	return known.(*many), nil
}

var parameter = regexp.MustCompile(`\bu\.p(\d+)\b`)

// statement makes the statement for parameters of these types, of which some are
// the same for all rows; "" if a type has no array.
func (s *shape) statement(types []uint32, same []bool) string {
	var values, names []string
	scalars := map[string]string{}
	for i, oid := range types {
		array := arrays[oid]
		if array == "" {
			return ""
		}
		value, name := "$"+strconv.Itoa(i+1)+"::"+array, "p"+strconv.Itoa(i+1)
		if same[i] {
			scalars["u."+name] = strings.TrimSuffix(value, "[]")
			continue
		}
		values, names = append(values, value), append(names, name)
	}
	around := func(text string) string {
		return parameter.ReplaceAllStringFunc(text, func(name string) string {
			if value, is := scalars[name]; is {
				return value
			}
			return name
		})
	}
	numbered := ""
	if strings.Contains(s.before, "u.n") {
		numbered = " WITH ORDINALITY"
		names = append(names, "n")
	}
	return around(s.before) + "unnest(" + strings.Join(values, ", ") + ")" + numbered + " AS u(" + strings.Join(names, ", ") + ")" + around(s.after)
}
