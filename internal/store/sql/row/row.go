// Package row declares tables. The columns, values and scan destinations of a row are declared once,
// and the statements that write rows follow from them.
package row

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/internal/store/sql/column"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Table holds what is needed to insert and update the rows of one table. The columns of the key
// come first, those of the contents last.
type Table struct {
	Name    string
	Key     int // the number of key columns
	Columns []string
	// read contains the columns that are scanned: all except contents and unread fields.
	read []string
	// Sets are groups of columns that are written together, changed or not, so that the rows of
	// different commands use the same statement. A store that writes many rows with one statement
	// needs that. The first set that contains all changed columns is used.
	Sets []set
	// insertion is the statement that inserts a row. updates caches the statements that update some
	// of the columns.
	insertion *statement.Statement
	updates   *updates
}

// set is a group of columns of a table.
type set struct {
	Update *statement.Statement
	at     []int  // in the table's columns
	has    []bool // by column
}

// written returns the table prepared for writing single rows, with sets of these columns.
func (t Table) written(sets ...[]string) Table {
	t.insertion, t.updates = statement.Declare(t.InsertStatement()), &updates{}
	for _, columns := range sets {
		t.Sets = append(t.Sets, t.setOf(columns))
	}
	return t
}

// setOf creates a set. It panics for an unknown column.
func (t Table) setOf(columns []string) set {
	s := set{has: make([]bool, len(t.Columns))}
	for i, column := range t.Columns {
		if s.has[i] = slices.Contains(columns, column); s.has[i] {
			s.at = append(s.at, i)
		}
	}
	if len(s.at) != len(columns) {
		panic("a set of " + t.Name + " names a column that there is not")
	}
	s.Update = statement.Declare(t.updateStatement(s.at))
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

// Unchanged is the value of a content column that is not loaded and remains as stored.
type Unchanged struct{}

// InsertStatement returns a statement that inserts a row.
func (t Table) InsertStatement(options ...func(*statement.Group)) *statement.Statement {
	return statement.NewInsert(t.Name, t.Columns, options...)
}

// Insert inserts a row. The values are in the order of the columns.
func (t Table) Insert(v statement.View, values []any) error {
	return v.Write(t.insertion, values...)
}

// Update writes the columns that differ between two versions of a row, or a set that contains them.
// So indexes of other columns are not touched. before has no contents; contents that remain are
// unchanged in after.
func (t Table) Update(v statement.View, before, after []any) error {
	differ := make([]int, 0, 16)
	for i := t.Key; i < len(t.Columns); i++ {
		var was any = Unchanged{}
		if i < len(before) {
			was = before[i]
		}
		if !column.Same(was, after[i]) {
			differ = append(differ, i)
		}
	}
	if len(differ) == 0 {
		return nil
	}
	var query *statement.Statement
	if v.Dialect.Sets {
		if i := slices.IndexFunc(t.Sets, func(s set) bool { return s.covers(differ) }); i >= 0 {
			query, differ = t.Sets[i].Update, t.Sets[i].at
		}
	}
	if query == nil {
		query = t.updateOf(differ)
	}
	args := make([]any, 0, len(differ)+t.Key)
	for _, i := range differ {
		args = append(args, after[i])
	}
	return v.Write(query, append(args, after[:t.Key]...)...)
}

// updates caches the statements that update some columns of a table, by a bit mask of the columns.
// There are few of them in practice. The map is replaced instead of modified, so that readers need
// no lock.
type updates struct {
	known atomic.Pointer[map[uint64]*statement.Statement]
	grow  sync.Mutex
}

// updateOf returns the cached result of updateStatement.
func (t Table) updateOf(columns []int) *statement.Statement {
	if len(t.Columns) > 64 {
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
	more := map[uint64]*statement.Statement{key: query}
	if known := t.updates.known.Load(); known != nil {
		maps.Copy(more, *known)
	}
	t.updates.known.Store(&more)
	return query
}

func (t Table) updateStatement(columns []int) *statement.Statement {
	set, where := make(statement.Terms, len(columns)), make(statement.Terms, t.Key)
	for i, at := range columns {
		set[i].Column = t.Columns[at]
	}
	for i := range where {
		where[i].Column = t.Columns[i]
	}
	return statement.NewUpdate(t.Name, set, where)
}

// UpsertStatement returns a statement that inserts a row or replaces all its columns except the key
// and the kept ones.
func (t Table) UpsertStatement(kept ...string) *statement.Statement {
	return t.InsertStatement(statement.Replacing(strings.Join(t.Columns[:t.Key], ", "), t.Replaced(kept...)))
}

// Replaced returns the assignments of an insert that replaces all columns of an existing row except the
// key and the kept ones.
func (t Table) Replaced(kept ...string) string {
	sets := make([]string, 0, len(t.Columns))
	for _, column := range t.Columns[t.Key:] {
		if !slices.Contains(kept, column) {
			sets = append(sets, column+" = excluded."+column)
		}
	}
	return strings.Join(sets, ", ")
}

// List returns the columns for a SELECT that [Rows.Scan] scans, each with the table's alias unless
// that is "".
func (t Table) List(alias string) string {
	if alias != "" {
		alias += "."
	}
	return alias + strings.Join(t.read, ", "+alias)
}
