package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store/sql/schema"
)

const tableColumns = `SELECT c.relname, a.attname, coalesce(array_position(i.indkey::int2[], a.attnum), -1)
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
	LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
	WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
	AND c.relname NOT IN ('goose_db_version', 'store', 'committer', 'copying') ORDER BY c.relname COLLATE "C", a.attname COLLATE "C"`

// tableReferences selects pairs of tables. The first table of a pair refers to the second one by a
// foreign key.
const tableReferences = `SELECT a.relname, b.relname FROM pg_constraint f JOIN pg_class a ON a.oid = f.conrelid JOIN pg_class b ON b.oid = f.confrelid
	WHERE f.contype = 'f' AND f.conrelid <> f.confrelid AND a.relnamespace = current_schema()::regnamespace`

// tablesOf returns the tables of the database. Each table follows the tables to which it refers.
func tablesOf(ctx context.Context, conn *pgx.Conn) ([]schema.Table, error) {
	var tables []schema.Table
	rows, err := conn.Query(ctx, tableColumns)
	if err != nil {
		return nil, err
	}
	var name, column string
	var place int
	_, err = pgx.ForEachRow(rows, []any{&name, &column, &place}, func() error {
		if len(tables) == 0 || tables[len(tables)-1].Name != name {
			tables = append(tables, schema.Table{Name: name})
		}
		t := &tables[len(tables)-1]
		t.Columns = append(t.Columns, column)
		if place >= 0 {
			for len(t.Key) <= place {
				t.Key = append(t.Key, "")
			}
			t.Key[place] = column
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	refersTo, err := references(ctx, conn)
	if err != nil {
		return nil, err
	}
	return inOrder(tables, refersTo), nil
}

func references(ctx context.Context, conn *pgx.Conn) (map[string][]string, error) {
	refersTo := map[string][]string{}
	rows, err := conn.Query(ctx, tableReferences)
	if err != nil {
		return nil, err
	}
	var from, to string
	_, err = pgx.ForEachRow(rows, []any{&from, &to}, func() error {
		refersTo[from] = append(refersTo[from], to)
		return nil
	})
	return refersTo, err
}

// inOrder sorts the tables, so that each table follows the tables to which it refers.
func inOrder(tables []schema.Table, refersTo map[string][]string) []schema.Table {
	byName, done := map[string]schema.Table{}, map[string]bool{}
	for _, t := range tables {
		byName[t.Name] = t
	}
	var all []schema.Table
	var add func(name string)
	add = func(name string) {
		t, known := byName[name]
		if done[name] || !known {
			return
		}
		done[name] = true
		for _, other := range refersTo[name] {
			add(other)
		}
		all = append(all, t)
	}
	for _, t := range tables {
		add(t.Name)
	}
	return all
}
