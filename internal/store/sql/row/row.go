// Package row declares tables. A declaration lists the columns of a table once, with their values
// and scan destinations. The statements that write rows are derived from it.
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

// Table contains what is needed to insert and update the rows of one table. The columns of the
// primary key come first, those of the contents last.
type Table struct {
	Name    string
	Key     int // the number of key columns
	Columns []string
	// read contains the columns that a query selects and scans: all columns except those of contents
	// and of unread fields.
	read []string
	// Sets are groups of columns that an update writes together, even if only some of them have
	// changed. More updates then have the same statement, so that a store can run them as one
	// statement for many rows. An update uses the first set that contains all changed columns.
	Sets []set
	// insertion is the statement that inserts a row. The field `updates` caches the statements that
	// update rows.
	insertion *statement.Statement
	updates   *updates
}

// set is a group of columns of a table.
type set struct {
	Update *statement.Statement
	at     []int  // indexes in the table's columns
	has    []bool // by index in the table's columns: whether the set has that column
}

// written returns the table with the statements for writing single rows, and with these groups of
// columns as its Sets.
func (t Table) written(sets ...[]string) Table {
	t.insertion, t.updates = statement.Declare(t.InsertStatement()), &updates{}
	for _, columns := range sets {
		t.Sets = append(t.Sets, t.setOf(columns))
	}
	return t
}

// setOf returns the set of these columns. It panics if the table does not have all of them.
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

// covers reports whether the set contains all the columns with these indexes.
func (s *set) covers(differ []int) bool {
	for _, at := range differ {
		if !s.has[at] {
			return false
		}
	}
	return true
}

// Unchanged is the value of a content column whose content was not loaded. An update leaves the
// stored content as it is.
type Unchanged struct{}

// InsertStatement returns a statement that inserts a row.
func (t Table) InsertStatement(options ...func(*statement.Group)) *statement.Statement {
	return statement.NewInsert(t.Name, t.Columns, options...)
}

// Insert inserts a row. The values are in the order of the columns.
func (t Table) Insert(v statement.View, values []any) error {
	return v.Write(t.insertion, values...)
}

// Update writes the columns that differ between two versions of a row, or all columns of the first
// of t.Sets that contains them. Other columns are not written, so their indexes are not touched.
// The slice `before` has no contents. In `after`, the value Unchanged stands for a content that
// remains.
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

// updates caches the statements that update some columns of a table; the key is a bit mask of the
// columns. The map is never modified but replaced by a new one, so that readers need no lock.
type updates struct {
	known atomic.Pointer[map[uint64]*statement.Statement]
	grow  sync.Mutex
}

// updateOf returns the statement that updates these columns, from the cache if possible.
func (t Table) updateOf(columns []int) *statement.Statement {
	if len(t.Columns) > 64 {
		return t.updateStatement(columns) // there are more columns than the bit mask has bits
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

// UpsertStatement returns a statement that inserts a row, or replaces all columns of an existing
// row except the primary key and the columns in `kept`.
func (t Table) UpsertStatement(kept ...string) *statement.Statement {
	return t.InsertStatement(statement.Replacing(strings.Join(t.Columns[:t.Key], ", "), t.Replaced(kept...)))
}

// Replaced returns the assignments with which an insert replaces an existing row. They set all
// columns except the primary key and the columns in `kept`.
func (t Table) Replaced(kept ...string) string {
	sets := make([]string, 0, len(t.Columns))
	for _, column := range t.Columns[t.Key:] {
		if !slices.Contains(kept, column) {
			sets = append(sets, column+" = excluded."+column)
		}
	}
	return strings.Join(sets, ", ")
}

// List returns the list of columns for a SELECT that [Rows.Scan] scans. Each column has the table's
// alias as a prefix, unless alias is "".
func (t Table) List(alias string) string {
	if alias != "" {
		alias += "."
	}
	return alias + strings.Join(t.read, ", "+alias)
}
