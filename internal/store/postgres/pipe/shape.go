package pipe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// shape describes how to run a declared statement for many rows of parameters. In the SQL, the rows
// are the result of unnest with the alias u, and u.p1, u.p2, ... are the parameters of one row.
type shape struct {
	text   string // the statement for one row, in PostgreSQL's dialect
	group  *statement.Group
	params int
	// unlike lists the parameters in which all rows for one statement must differ. Otherwise the
	// statement might change the same row twice, which PostgreSQL rejects or ignores.
	unlike []int
	// match lists the parameters with which the rows that an INSERT returns are matched with the
	// rows of parameters.
	match []int
}

var shapes sync.Map // *shape by the text of a statement; nil if the statement cannot run for many rows

// shapeOf returns the shape of a statement; nil if the statement cannot run for many rows of
// parameters, for example because it has no parameters.
func shapeOf(query *statement.Statement) *shape {
	g := query.Group()
	if g == nil {
		return nil
	}
	if known, ok := shapes.Load(query.Text()); ok {
		return known.(*shape)
	}
	made := newShape(query.Text(), g)
	shapes.Store(query.Text(), made)
	return made
}

func newShape(text string, g *statement.Group) *shape {
	s := &shape{text: Translate(text), group: g}
	switch g.Kind {
	case statement.KindRead:
		if s.params = lastParam(s.text); s.params == 0 {
			return nil
		}
	case statement.KindInsert:
		s.params = len(g.Columns)
		for _, column := range g.ConflictKey {
			s.unlike = append(s.unlike, slices.Index(g.Columns, column))
		}
		if g.Returning != "" {
			s.match = []int{0, 1}
			s.unlike = s.match
		}
	case statement.KindUpdate:
		for _, t := range g.Set {
			s.params += countParams(t)
		}
		for _, t := range g.Where {
			if t.Param() {
				s.unlike = append(s.unlike, s.params)
			}
			s.params += countParams(t)
		}
	case statement.KindDelete:
		for _, t := range g.Where {
			s.params += countParams(t)
		}
	}
	return s
}

func countParams(t statement.Term) int {
	if t.Param() {
		return 1
	}
	return 0
}

// lastParam returns the highest number of the parameters $1, $2, ... of a statement.
func lastParam(query string) (last int) {
	eachParam(query, func(_ string, number int) { last = max(last, number) })
	return last
}

// eachParam calls f for each parameter of a statement, with the text since the previous parameter.
// It returns the text after the last parameter.
func eachParam(query string, f func(before string, number int)) (rest string) {
	for {
		at := strings.IndexByte(query, '$')
		if at < 0 {
			return query
		}
		end := at + 1
		for end < len(query) && query[end] >= '0' && query[end] <= '9' {
			end++
		}
		number, err := strconv.Atoi(query[at+1 : end])
		if err == nil {
			f(query[:at], number)
		}
		query = query[end:]
	}
}

// statement returns the SQL of the statement for parameters of these types. A parameter that is
// marked in `same` is a single value; the others are arrays. If `arrays` has no array type for one
// of `types`, statement returns "".
func (s *shape) statement(types []uint32, same []bool) string {
	var arraysOf, names, values []string
	for i, oid := range types {
		array := arrays[oid]
		if array == "" {
			return ""
		}
		param, name := "$"+strconv.Itoa(i+1)+"::"+array, "p"+strconv.Itoa(i+1)
		if same[i] {
			values = append(values, strings.TrimSuffix(param, "[]"))
			continue
		}
		arraysOf, names, values = append(arraysOf, param), append(names, name), append(values, "u."+name)
	}
	from := "unnest(" + strings.Join(arraysOf, ", ") + ")"
	if s.group.Kind == statement.KindRead {
		from += " WITH ORDINALITY"
		names = append(names, "n")
	}
	return s.around(from+" AS u("+strings.Join(names, ", ")+")", values)
}

// around returns the SQL of the statement for many rows. The parameter `from` is the FROM clause
// with the rows of parameters; `values` contains an SQL expression for each parameter.
func (s *shape) around(from string, values []string) string {
	g := s.group
	switch g.Kind {
	case statement.KindInsert:
		text := g.Head() + " SELECT " + strings.Join(values, ", ") + " FROM " + from
		if g.OnConflict != "" {
			text += " " + g.OnConflict
		}
		if g.Returning != "" {
			text += " RETURNING " + g.Returning + ", " + g.Columns[0] + ", " + g.Columns[1]
		}
		return text
	case statement.KindUpdate:
		set, rest := sqlOf(g.Set, "", values)
		where, _ := sqlOf(g.Where, g.Table+".", rest)
		return g.Head() + strings.Join(set, ", ") + " FROM " + from + " WHERE " + strings.Join(where, " AND ")
	case statement.KindDelete:
		where, _ := sqlOf(g.Where, g.Table+".", values)
		return g.Head() + " USING " + from + " WHERE " + strings.Join(where, " AND ")
	}
	var b strings.Builder
	b.WriteString("SELECT q.*, u.n FROM " + from + " CROSS JOIN LATERAL (")
	rest := eachParam(s.text, func(before string, number int) { b.WriteString(before + values[number-1]) })
	return b.String() + rest + ") AS q"
}

// sqlOf returns the SQL of the terms. It replaces their parameters by the first elements of
// `values`, and returns the remaining elements.
func sqlOf(terms statement.Terms, prefix string, values []string) (all, rest []string) {
	for _, t := range terms {
		if !t.Param() {
			all = append(all, t.SQL(prefix, ""))
			continue
		}
		all, values = append(all, t.SQL(prefix, values[0])), values[1:]
	}
	return all, values
}

// fits returns an error if the number of arguments differs from the number of the statement's
// parameters.
func (s *shape) fits(args []any) error {
	if len(args) != s.params {
		return fmt.Errorf("%d arguments for the %d parameters of %s", len(args), s.params, s.text)
	}
	return nil
}

// inserts reports whether a statement is an insert. Inserts may return rows although they write.
func inserts(query *statement.Statement) bool {
	g := query.Group()
	return g != nil && g.Kind == statement.KindInsert
}

// arrays maps the type of a parameter to the name of its array type.
var arrays = map[uint32]string{
	pgtype.UUIDOID: "uuid[]", pgtype.TextOID: "text[]", pgtype.VarcharOID: "text[]", pgtype.ByteaOID: "bytea[]",
	pgtype.Int8OID: "bigint[]", pgtype.Int4OID: "integer[]", pgtype.Int2OID: "smallint[]",
}

// column contains the values of one parameter in all rows, as a PostgreSQL array.
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

// IndexType implements [pgtype.ArrayGetter]. A nil result means that each value has its own type.
func (c column) IndexType() any { return nil }

// columns converts rows of parameters to one array per parameter.
func columns(rows [][]any) []any {
	args := make([]any, len(rows[0]))
	for i := range args {
		args[i] = column{rows, i}
	}
	return args
}
