package relational

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// table is what inserting and updating the rows of one table needs: the names
// of its columns, those of its key first and those of its contents last.
type table struct {
	name     string
	key      int // how many of the columns are the key
	contents int // how many are contents, which list leaves out
	columns  []string
	// sets are columns that are written together, changed or not, by a store that
	// writes many rows with one statement: so the rows of different commands have
	// the same statement. The first that has all that has changed is taken.
	sets []set
	// insertion is insertSQL, and updates are the statements that change some of the
	// columns, put together once.
	insertion string
	updates   *updates
}

// set are some columns of a table.
type set struct {
	update string // the statement
	at     []int  // in the table's columns
	has    []bool // by column
}

// written returns the table, of which rows are written one by one, with sets of these
// columns.
func (t table) written(sets ...[]string) table {
	t.insertion, t.updates = t.insertSQL(), &updates{}
	for _, columns := range sets {
		t.sets = append(t.sets, t.setOf(columns))
	}
	return t
}

// setOf creates a set; it panics for a column that there is not.
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
	names := make([]string, len(s.at))
	for i, at := range s.at {
		names[i] = t.columns[at]
	}
	s.update = "UPDATE " + t.name + " SET " + strings.Join(names, " = ?, ") + " = ?" + t.where()
	return s
}

func (t table) where() string {
	return " WHERE " + strings.Join(t.columns[:t.key], " = ? AND ") + " = ?"
}

// covers reports whether the set has all columns that differ.
func (s *set) covers(differ []int) bool {
	for _, at := range differ {
		if !s.has[at] {
			return false
		}
	}
	return true
}

// unchanged stands for the value of a content that is not loaded, and stays.
type unchanged struct{}

func (t table) insertSQL() string {
	return "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES (" + marks(len(t.columns)) + ")"
}

// insert adds a row; values are in the order of the columns.
func (t table) insert(v view, values []any) error {
	return v.write(t.insertion, values...)
}

// update writes the columns that differ between two versions of a row, so that
// indexes of columns that stay are left alone, or a set that has them. Before goes
// without contents: those that stay are unchanged in after.
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
	query := ""
	if v.words.Sets {
		if i := slices.IndexFunc(t.sets, func(s set) bool { return s.covers(differ) }); i >= 0 {
			query, differ = t.sets[i].update, t.sets[i].at
		}
	}
	if query == "" {
		query = t.updateOf(differ)
	}
	args := make([]any, 0, len(differ)+t.key)
	for _, i := range differ {
		args = append(args, after[i])
	}
	return v.write(query, append(args, after[:t.key]...)...)
}

// updates are statements that change some columns of a table, by the columns, a bit
// each: there are few of those in practice. What is there is not changed but
// replaced, so that nobody waits to read it.
type updates struct {
	known atomic.Pointer[map[uint64]string]
	grow  sync.Mutex
}

// updateOf is updateSQL, put together once.
func (t table) updateOf(columns []int) string {
	if len(t.columns) > 64 {
		return t.updateSQL(columns) // a bit each is not enough
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
	query := t.updateSQL(columns)
	t.updates.grow.Lock()
	defer t.updates.grow.Unlock()
	more := map[uint64]string{key: query}
	if known := t.updates.known.Load(); known != nil {
		maps.Copy(more, *known)
	}
	t.updates.known.Store(&more)
	return query
}

func (t table) updateSQL(columns []int) string {
	var b strings.Builder
	b.WriteString("UPDATE " + t.name + " SET ")
	for i, at := range columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(t.columns[at] + " = ?")
	}
	return b.String() + t.where()
}

// upsertSQL inserts a row or replaces all but its key.
func (t table) upsertSQL() string {
	sets := make([]string, 0, len(t.columns))
	for _, column := range t.columns[t.key:] {
		sets = append(sets, column+" = excluded."+column)
	}
	return t.insertSQL() + " ON CONFLICT (" + strings.Join(t.columns[:t.key], ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// list returns the columns for a SELECT, each with the table's alias, without
// the contents.
func (t table) list(alias string) string {
	return alias + "." + strings.Join(t.columns[:len(t.columns)-t.contents], ", "+alias+".")
}
