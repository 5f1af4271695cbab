package relational

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// table holds what is needed to insert and update the rows of one table. The columns of the key
// come first, those of the contents last.
type table struct {
	name     string
	key      int // the number of key columns
	contents int // the number of content columns, which list leaves out
	columns  []string
	// sets are groups of columns that are written together, changed or not, so that the rows of
	// different commands use the same statement. A store that writes many rows with one statement
	// needs that. The first set that contains all changed columns is used.
	sets []set
	// insertion is the statement that inserts a row. updates caches the statements that update some
	// of the columns.
	insertion *Statement
	updates   *updates
}

// set is a group of columns of a table.
type set struct {
	update *Statement
	at     []int  // in the table's columns
	has    []bool // by column
}

// written returns the table prepared for writing single rows, with sets of these columns.
func (t table) written(sets ...[]string) table {
	t.insertion, t.updates = declare(t.insertStatement()), &updates{}
	for _, columns := range sets {
		t.sets = append(t.sets, t.setOf(columns))
	}
	return t
}

// setOf creates a set. It panics for an unknown column.
func (t table) setOf(columns []string) set {
	s := set{has: make([]bool, len(t.columns))}
	for i, column := range t.columns {
		if s.has[i] = slices.Contains(columns, column); s.has[i] {
			s.at = append(s.at, i)
		}
	}
	if len(s.at) != len(columns) {
		panic("a set of " + t.name + " names a column that there is not")
	}
	s.update = declare(t.updateStatement(s.at))
	return s
}

// covers reports whether the set contains all columns that differ.
func (s *set) covers(differ []int) bool {
	for _, at := range differ {
		if !s.has[at] {
			return false
		}
	}
	return true
}

// unchanged is the value of a content column that is not loaded and remains as stored.
type unchanged struct{}

func (t table) insertStatement(options ...func(*Group)) *Statement {
	return newInsert(t.name, t.columns, options...)
}

// insert inserts a row. The values are in the order of the columns.
func (t table) insert(v view, values []any) error {
	return v.write(t.insertion, values...)
}

// update writes the columns that differ between two versions of a row, or a set that contains them.
// So indexes of other columns are not touched. before has no contents; contents that remain are
// unchanged in after.
func (t table) update(v view, before, after []any) error {
	differ := make([]int, 0, 16)
	for i := t.key; i < len(t.columns); i++ {
		var was any = unchanged{}
		if i < len(before) {
			was = before[i]
		}
		if !same(was, after[i]) {
			differ = append(differ, i)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	var query *Statement
	if v.Dialect.Sets {
		if i := slices.IndexFunc(t.sets, func(s set) bool { return s.covers(differ) }); i >= 0 {
			query, differ = t.sets[i].update, t.sets[i].at
		}
	}
	if query == nil {
		query = t.updateOf(differ)
	}
	args := make([]any, 0, len(differ)+t.key)
	for _, i := range differ {
		args = append(args, after[i])
	}
	return v.write(query, append(args, after[:t.key]...)...)
}

// updates caches the statements that update some columns of a table, by a bit mask of the columns.
// There are few of them in practice. The map is replaced instead of modified, so that readers need
// no lock.
type updates struct {
	known atomic.Pointer[map[uint64]*Statement]
	grow  sync.Mutex
}

// updateOf returns the cached result of updateStatement.
func (t table) updateOf(columns []int) *Statement {
	if len(t.columns) > 64 {
		return t.updateStatement(columns) // more columns than the bit mask has bits
	}
	var key uint64
	for _, at := range columns {
		key |= 1 << at
	}
	if known := t.updates.known.Load(); known != nil {
		if query, ok := (*known)[key]; ok {
			return query
		}
	}
	query := t.updateStatement(columns)
	t.updates.grow.Lock()
	defer t.updates.grow.Unlock()
	more := map[uint64]*Statement{key: query}
	if known := t.updates.known.Load(); known != nil {
		maps.Copy(more, *known)
	}
	t.updates.known.Store(&more)
	return query
}

func (t table) updateStatement(columns []int) *Statement {
	set, where := make(Terms, len(columns)), make(Terms, t.key)
	for i, at := range columns {
		set[i].Column = t.columns[at]
	}
	for i := range where {
		where[i].Column = t.columns[i]
	}
	return newUpdate(t.name, set, where)
}

// upsertStatement returns a statement that inserts a row or replaces all its columns except the
// key.
func (t table) upsertStatement() *Statement {
	sets := make([]string, 0, len(t.columns))
	for _, column := range t.columns[t.key:] {
		sets = append(sets, column+" = excluded."+column)
	}
	return t.insertStatement(replacing(strings.Join(t.columns[:t.key], ", "), strings.Join(sets, ", ")))
}

// list returns the columns for a SELECT, without the contents, each with the table's alias.
func (t table) list(alias string) string {
	return alias + "." + strings.Join(t.columns[:len(t.columns)-t.contents], ", "+alias+".")
}
