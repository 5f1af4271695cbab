package postgres

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"
)

// shape is how a statement for one row is converted to a statement for many rows of parameters.
// There are four kinds whose rows cannot affect each other: inserted rows, rows that are updated or
// deleted by equality of columns, and rows that are read.
type shape struct {
	before, after string // around unnest(...), with the rows' parameters as u.p1, u.p2, ...
	params        int
	// unlike lists the parameters by which the rows of one statement must differ: PostgreSQL
	// changes a row only once per statement, and rejects or ignores a second change.
	unlike []int
	// match lists the parameters that identify an inserted row in the result of RETURNING.
	match []int
}

var (
	// insertShape matches only values that are all parameters, in order.
	insertShape = regexp.MustCompile(`^(INSERT INTO \w+ \(([\w, ]+)\)) VALUES \(([?, ]+)\)(?: (ON CONFLICT(?: DO NOTHING| \(([\w, ]+)\) DO (?:NOTHING|UPDATE SET [^?]+))))?(?: (RETURNING \w+))?$`)
	updateShape = regexp.MustCompile(`^(UPDATE (\w+) SET )([^()]+) WHERE ([^()]+)$`)
	deleteShape = regexp.MustCompile(`^(DELETE FROM (\w+)) WHERE ([^()]+)$`)
	// equals matches a column that is set or compared. A set column may be incremented by a value.
	equals = regexp.MustCompile(`^(\w+)(?: = (\w+ \+ )?(\?|-?\d+|NULL|'\w*')| (IS NOT NULL|IS NULL))$`)
	locks  = regexp.MustCompile(`\bFOR (NO KEY UPDATE|UPDATE|SHARE|KEY SHARE)\b`)
	marked = regexp.MustCompile(`\$(\d+)`)
)

var shapes sync.Map // *shape by statement; a nil *shape if there is none

// shapeOf returns the shape of a shared statement; nil if it has none.
func shapeOf(query string) *shape {
	if known, ok := shapes.Load(query); ok {
		return known.(*shape)
	}
	made := makeShape(indexedBy.ReplaceAllString(query, ""))
	shapes.Store(query, made)
	return made
}

func makeShape(query string) *shape {
	switch {
	case strings.HasPrefix(query, "INSERT "):
		return insertOf(query)
	case strings.HasPrefix(query, "UPDATE "):
		return updateOf(query)
	case strings.HasPrefix(query, "DELETE "):
		return deleteOf(query)
	case strings.HasPrefix(query, "SELECT ") && !locks.MatchString(query):
		return selectOf(query)
	}
	return nil
}

func insertOf(query string) *shape {
	m := insertShape.FindStringSubmatch(query)
	if m == nil {
		return nil
	}
	columns := strings.Split(m[2], ", ")
	s := &shape{before: m[1] + " SELECT " + rowOf(len(columns)) + " FROM ", params: strings.Count(m[3], "?")}
	if s.params != len(columns) {
		return nil
	}
	if m[4] != "" {
		s.after = " " + m[4]
	}
	if strings.Contains(m[4], " UPDATE ") {
		for _, column := range strings.Split(m[5], ", ") {
			s.unlike = append(s.unlike, slices.Index(columns, column))
		}
	}
	if m[6] != "" {
		if m[4] != "" || len(columns) < 2 {
			return nil // a row may not be returned
		}
		s.after, s.match = " "+m[6]+", "+columns[0]+", "+columns[1], []int{0, 1}
		s.unlike = s.match
	}
	if slices.Contains(s.unlike, -1) {
		return nil
	}
	return s
}

// rowOf returns u.p1, u.p2 and so on.
func rowOf(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("u.p" + strconv.Itoa(i+1))
	}
	return b.String()
}

func updateOf(query string) *shape {
	m := updateShape.FindStringSubmatch(query)
	if m == nil {
		return nil
	}
	s := &shape{}
	set, _, ok := s.conditions(m[3], ", ", "")
	if !ok {
		return nil
	}
	where, compared, ok := s.conditions(m[4], " AND ", m[2]+".")
	if !ok {
		return nil
	}
	s.unlike = compared
	s.before, s.after = m[1]+set+" FROM ", " WHERE "+where
	return s
}

func deleteOf(query string) *shape {
	m := deleteShape.FindStringSubmatch(query)
	if m == nil {
		return nil
	}
	s := &shape{}
	where, _, ok := s.conditions(m[3], " AND ", m[2]+".")
	if !ok {
		return nil
	}
	s.before, s.after = m[1]+" USING ", " WHERE "+where
	return s
}

// conditions numbers the parameters of a list of equations, and returns the indexes of these
// parameters.
func (s *shape) conditions(list, separator, table string) (made string, params []int, ok bool) {
	parts := strings.Split(list, separator)
	for i, part := range parts {
		m := equals.FindStringSubmatch(part)
		if m == nil || m[2] != "" && table != "" {
			return "", nil, false
		}
		value := m[3]
		if m[4] != "" {
			parts[i] = table + part
			continue
		}
		if value == "?" {
			params = append(params, s.params)
			s.params++
			value = "u.p" + strconv.Itoa(s.params)
		}
		parts[i] = table + m[1] + " = " + m[2] + value
	}
	return strings.Join(parts, separator), params, true
}

// selectOf returns the shape of a query. The combined query returns, for each row of parameters,
// the query's rows with the number of the parameter row as the last column.
func selectOf(query string) *shape {
	s := &shape{before: "SELECT q.*, u.n FROM "}
	for _, m := range marked.FindAllStringSubmatch(numbered(query), -1) {
		if n, err := strconv.Atoi(m[1]); err == nil {
			s.params = max(s.params, n)
		}
	}
	if s.params == 0 {
		return nil
	}
	s.after = " CROSS JOIN LATERAL (" + marked.ReplaceAllString(numbered(query), "u.p$1") + ") AS q"
	return s
}

// arrays lists the parameter types that have array types.
var arrays = map[uint32]string{
	pgtype.UUIDOID: "uuid[]", pgtype.TextOID: "text[]", pgtype.VarcharOID: "text[]", pgtype.ByteaOID: "bytea[]",
	pgtype.Int8OID: "bigint[]", pgtype.Int4OID: "integer[]", pgtype.Int2OID: "smallint[]",
}

// column is one parameter of all rows, as a PostgreSQL array.
type column struct {
	rows [][]any
	at   int
}

var _ pgtype.ArrayGetter = column{}

// Dimensions implements [pgtype.ArrayGetter].
func (c column) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(c.rows)), LowerBound: 1}}
}

// Index implements [pgtype.ArrayGetter].
func (c column) Index(i int) any { return c.rows[i][c.at] }

// IndexType implements [pgtype.ArrayGetter]. Nil means that each value has its own type.
func (c column) IndexType() any { return nil }

// columns converts rows of parameters to one array per parameter.
func columns(rows [][]any) []any {
	args := make([]any, len(rows[0]))
	for i := range args {
		args[i] = column{rows, i}
	}
	return args
}
