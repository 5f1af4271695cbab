package relational

import (
	"strings"
	"sync"
)

// table is what inserting and updating the rows of one table needs: the names
// of its columns, those of its key first and those of its contents last.
type table struct {
	name     string
	key      int // how many of the columns are the key
	contents int // how many are contents, which list leaves out
	columns  []string
}

// unchanged stands for the value of a content that is not loaded, and stays.
type unchanged struct{}

func (t table) insertSQL() string {
	return "INSERT INTO " + t.name + " (" + strings.Join(t.columns, ", ") + ") VALUES (" + marks(len(t.columns)) + ")"
}

// insert adds a row; values are in the order of the columns.
func (t table) insert(v view, values []any) error {
	return v.write(t.insertSQL(), values...)
}

// update writes the columns that differ between two versions of a row, so that
// indexes of columns that stay are left alone.
func (t table) update(v view, before, after []any) error {
	var changed uint64
	args := make([]any, 0, 16)
	for i := t.key; i < len(t.columns); i++ {
		if !same(before[i], after[i]) {
			changed |= 1 << i
			args = append(args, after[i])
		}
	}
	if len(args) == 0 {
		return nil
	}
	return v.write(t.updateSQL(changed), append(args, after[:t.key]...)...)
}

// updates are the statements that change some columns of a table, by the table's
// name and the columns, a bit each: there are few of those in practice.
var updates sync.Map

type updateOf struct {
	table   string
	columns uint64
}

func (t table) updateSQL(columns uint64) string {
	if query, ok := updates.Load(updateOf{t.name, columns}); ok {
		return query.(string)
	}
	var set []string
	for i, column := range t.columns {
		if columns&(1<<i) != 0 {
			set = append(set, column+" = ?")
		}
	}
	query := "UPDATE " + t.name + " SET " + strings.Join(set, ", ") + " WHERE " + strings.Join(t.columns[:t.key], " = ? AND ") + " = ?"
	updates.Store(updateOf{t.name, columns}, query)
	return query
}

// upsertSQL inserts a row or replaces all but its key.
func (t table) upsertSQL() string {
	sets := make([]string, 0, len(t.columns))
	for _, column := range t.columns[t.key:] {
		sets = append(sets, column+" = excluded."+column)
	}
	return t.insertSQL() + " ON CONFLICT (" + strings.Join(t.columns[:t.key], ", ") + ") DO UPDATE SET " + strings.Join(sets, ", ")
}

// list gives the columns for a SELECT, each with the table's alias, without
// the contents.
func (t table) list(alias string) string {
	return alias + "." + strings.Join(t.columns[:len(t.columns)-t.contents], ", "+alias+".")
}
