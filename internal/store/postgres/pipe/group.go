package pipe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Groups caches, for each declared statement, the SQL that runs it for many rows of parameters at
// once.
type Groups struct {
	made sync.Map // *multiRow by the text of the statement
	// Single is set by tests. The statements for many rows are then also used for a single row, and
	// each group of rows may add a narrowStatement.
	Single bool
}

// useMultiRow reports whether a statement for many rows is to be used for that number of rows.
func (g *Groups) useMultiRow(rows int) bool { return rows > 1 || g.Single }

// Texts contains the SQL texts of one declared statement, as they are sent to PostgreSQL.
type Texts struct {
	One string
	// Many is the statement for many rows of parameters. Narrow is the statement for many rows that
	// differ only in the first parameter. Both are "" if the statement cannot run for many rows.
	Many, Narrow string
}

// Texts returns the SQL texts of a declared statement. Tests check the query plans of these texts.
func (g *Groups) Texts(ctx context.Context, conn *pgx.Conn, query *statement.Statement) (Texts, error) {
	all := Texts{One: Translate(query.Text())}
	s := shapeOf(query)
	if s == nil {
		return all, nil
	}
	m, err := g.of(ctx, conn, s)
	if err != nil {
		return all, err
	}
	same := make([]bool, s.params)
	for i := range same {
		same[i] = i > 0
	}
	all.Many, all.Narrow = m.whole, s.statement(m.types, same)
	return all, nil
}

// chain contains the writes of one command that are not sent yet, in order.
type chain struct {
	list []request
	// after contains the chains that must be written before this chain. The commands of those
	// chains owned a name (see statement.Conn's Hold) for which this chain's command waited.
	after []*chain
}

func (c *chain) ready() bool {
	return !slices.ContainsFunc(c.after, func(before *chain) bool { return len(before.list) > 0 })
}

// group is a statement with the rows of parameters for which it will run.
type group struct {
	query *statement.Statement
	rows  [][]any
}

// groupsOf combines equal statements of several commands into as few groups as possible. It keeps
// the order of the statements of each command.
func groupsOf(chains []*chain) (all []group) {
	left := countsOf(chains)
	for len(left) > 0 {
		query := nextQuery(chains, left)
		g := group{query: query}
		s := shapeOf(query)
		seen := map[string]bool{}
		for _, c := range chains {
			for len(c.list) > 0 && c.list[0].query.Text() == query.Text() && c.ready() && g.takes(s, c.list[0].args, seen) {
				g.rows = append(g.rows, c.list[0].args)
				c.list = c.list[1:]
			}
		}
		if left[query.Text()] -= len(g.rows); left[query.Text()] == 0 {
			delete(left, query.Text())
		}
		all = append(all, g)
	}
	return all
}

func countsOf(chains []*chain) map[string]int {
	counts := map[string]int{}
	for _, c := range chains {
		for _, st := range c.list {
			counts[st.query.Text()]++
		}
	}
	return counts
}

// nextQuery returns a statement that is next in at least one chain. It prefers a statement that is
// next in every chain that contains it, and that no chain contains again after other statements:
// one group can then contain all rows of that statement.
func nextQuery(chains []*chain, left map[string]int) *statement.Statement {
	heads := map[string]int{}
	var order []*statement.Statement // makes the result deterministic
	for _, c := range chains {
		if len(c.list) == 0 || !c.ready() {
			continue
		}
		query := c.list[0].query
		if heads[query.Text()] == 0 {
			order = append(order, query)
		}
		for _, st := range c.list {
			if st.query.Text() != query.Text() {
				break
			}
			heads[query.Text()]++
		}
	}
	best := order[0]
	for _, query := range order {
		if heads[query.Text()] == left[query.Text()] {
			return query
		}
		if heads[query.Text()] > heads[best.Text()] {
			best = query
		}
	}
	return best
}

// takes reports whether a row of parameters may be added to the group. If s is nil, the statement
// cannot run for many rows, so the group can have only one row. Otherwise the rows of the group
// must differ in the parameters that s.unlike lists, if it lists any.
func (g *group) takes(s *shape, args []any, seen map[string]bool) bool {
	if s == nil || s.params != len(args) {
		return len(g.rows) == 0
	}
	if s.unlike == nil {
		return true
	}
	key := keyOf(args, s.unlike)
	if seen[key] {
		return false
	}
	seen[key] = true
	return true
}

// keyOf returns a text that is equal for rows whose parameters at these indexes are equal.
func keyOf(args []any, at []int) string {
	var b strings.Builder
	for _, i := range at {
		writeKey(&b, args[i])
		b.WriteByte(0)
	}
	return b.String()
}

func writeKey(b *strings.Builder, arg any) {
	switch v := arg.(type) {
	case []byte:
		b.Write(v)
	case string:
		b.WriteString(v)
	default:
		fmt.Fprint(b, v)
	}
}

// wholeKey returns a text that is equal only for rows in which all parameters are equal.
func wholeKey(args []any) string {
	key := make([]byte, 0, 64)
	text := func(kind byte, length int) {
		key = binary.AppendUvarint(append(key, kind), uint64(length))
	}
	for _, arg := range args {
		switch v := arg.(type) {
		case []byte:
			text('b', len(v))
			key = append(key, v...)
		case string:
			text('s', len(v))
			key = append(key, v...)
		case int64:
			key = binary.AppendVarint(append(key, 'n'), v)
		default:
			said := fmt.Sprintf("%T %v", v, v)
			text('v', len(said))
			key = append(key, said...)
		}
	}
	return string(key)
}

// queue adds the writes of a group to a batch, as one statement for many rows if possible. The
// results of the writes are ignored.
func (p *Pipe) queue(batch *pgx.Batch, g group) error {
	if s := shapeOf(g.query); s != nil && p.grouped.useMultiRow(len(g.rows)) {
		if err := s.fits(g.rows[0]); err != nil {
			return err
		}
		m, err := p.grouped.of(p.ctx, p.conn, s)
		if err != nil {
			return err
		}
		query, args := m.statementFor(g.rows, p.grouped.Single)
		batch.Queue(query, args...)
		return nil
	}
	for _, row := range g.rows {
		batch.Queue(Translate(g.query.Text()), row...)
	}
	return nil
}

// queueQueries adds queries with the same statement to a batch, as one statement for many rows if
// possible. When the batch is sent, each query gets its own rows of the result.
func (p *Pipe) queueQueries(batch *pgx.Batch, asked []*pendingQuery) error {
	s := shapeOf(asked[0].query)
	if p.grouped.useMultiRow(len(asked)) && s != nil && asked[0].rows != nil && differ(asked, s.unlike) {
		if err := s.fits(asked[0].args); err != nil {
			return err
		}
		m, err := p.grouped.of(p.ctx, p.conn, s)
		if err != nil {
			return err
		}
		rows, askers := distinctRows(asked)
		batch.Queue(m.whole, columns(rows)...).Query(func(rows pgx.Rows) error { return handOut(rows, askers, s) })
		return nil
	}
	for _, q := range asked {
		queued := batch.Queue(Translate(q.query.Text()), q.args...)
		if q.rows == nil {
			queued.Exec(func(tag pgconn.CommandTag) error {
				q.number = tag.RowsAffected()
				return nil
			})
			continue
		}
		queued.Query(func(rows pgx.Rows) error { return eachRow(rows, q.rows) })
	}
	return nil
}

// distinctRows returns the distinct rows of parameters of some queries. For each of these rows,
// `askers` contains the queries with these parameters.
func distinctRows(asked []*pendingQuery) (rows [][]any, askers [][]*pendingQuery) {
	known := map[string]int{}
	for _, q := range asked {
		key := wholeKey(q.args)
		i, again := known[key]
		if !again {
			i = len(rows)
			known[key], rows, askers = i, append(rows, q.args), append(askers, nil)
		}
		askers[i] = append(askers[i], q)
	}
	return rows, askers
}

// differ reports whether all queries differ from each other in the parameters at the indexes `at`.
// It returns true if `at` is nil.
func differ(asked []*pendingQuery, at []int) bool {
	if at == nil {
		return true
	}
	seen := map[string]bool{}
	for _, q := range asked {
		key := keyOf(q.args, at)
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// handOut passes each row of a result to the queries that asked for it. The last column of the
// result is the number of a row of parameters, counted from 1. For an INSERT, the last columns are
// the key of the inserted row instead.
func handOut(rows pgx.Rows, asked [][]*pendingQuery, s *shape) error {
	defer rows.Close()
	var byKey map[string]int
	if s.match != nil {
		byKey = make(map[string]int, len(asked))
		for i, q := range asked {
			byKey[keyOf(q[0].args, s.match)] = i
		}
	}
	last := max(1, len(s.match))
	row := scannerOf(rows, last)
	stopped := map[*pendingQuery]bool{}
	for rows.Next() {
		i, err := answers(rows.RawValues(), last, byKey)
		if err != nil {
			return err
		}
		if i < 0 || i >= len(asked) {
			return fmt.Errorf("a row answers question %d of %d", i, len(asked))
		}
		for _, q := range asked[i] {
			if stopped[q] {
				continue
			}
			if stopped[q], err = stops(q.rows(row)); err != nil {
				return err
			}
		}
	}
	return rows.Err()
}

// answers returns the index of the row of parameters to which a row of the result belongs. The
// slice `raw` contains the columns of that row. The last column is the number of the row of
// parameters. If byKey is not nil, the last columns, `last` in number, are a key in byKey instead.
func answers(raw [][]byte, last int, byKey map[string]int) (int, error) {
	own := raw[len(raw)-last:]
	if byKey == nil {
		if len(own[0]) != 8 {
			return 0, fmt.Errorf("the number of a row has %d bytes", len(own[0]))
		}
		return int(binary.BigEndian.Uint64(own[0])) - 1, nil
	}
	key := make([]byte, 0, 64)
	for _, part := range own {
		key = append(append(key, part...), 0)
	}
	i, known := byKey[string(key)]
	if !known {
		return 0, errors.New("a row came back that was not inserted")
	}
	return i, nil
}

// stops processes the error of a query's scan function. It returns true for ErrStop, after which
// the query gets no further rows, and returns other errors unchanged.
func stops(err error) (bool, error) {
	if errors.Is(err, statement.ErrStop) {
		return true, nil
	}
	return false, err
}
