package relational

import (
	"strings"
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
	var set strings.Builder
	args := make([]any, 0, 8)
	for i := t.key; i < len(t.columns); i++ {
		if same(before[i], after[i]) {
			continue
		}
		if set.Len() > 0 {
			set.WriteString(", ")
		}
		set.WriteString(t.columns[i])
		set.WriteString(" = ?")
		args = append(args, after[i])
	}
	if len(args) == 0 {
		return nil
	}
	query := "UPDATE " + t.name + " SET " + set.String() + " WHERE " + strings.Join(t.columns[:t.key], " = ? AND ") + " = ?"
	return v.write(query, append(args, after[:t.key]...)...)
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
