package statement

import (
	"testing"
)

// TestImpossibleDeclarationsPanic checks that the declaration of an insert panics if the insert
// cannot run for many rows.
func TestImpossibleDeclarationsPanic(t *testing.T) {
	for name, declares := range map[string]func(){
		"a conflict on a column that is not written": func() { NewInsert("t", []string{"id"}, Replacing("key", "a = excluded.a")) },
		"a row that may not be returned":             func() { NewInsert("t", []string{"id", "a"}, Ignoring, Returning("n")) },
		"a row that cannot be identified":            func() { NewInsert("t", []string{"id"}, Returning("n")) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			declares()
		}()
	}
}

// TestTextsOfStatements checks the texts of declared inserts and updates for one row.
func TestTextsOfStatements(t *testing.T) {
	for want, s := range map[string]*Statement{
		"INSERT INTO t (id, a) VALUES (?, ?)":                                               NewInsert("t", []string{"id", "a"}),
		"INSERT INTO t (id, a) VALUES (?, ?) RETURNING n":                                   NewInsert("t", []string{"id", "a"}, Returning("n")),
		"INSERT INTO t (id) VALUES (?) ON CONFLICT (id) DO NOTHING":                         NewInsert("t", []string{"id"}, IgnoringOn("id")),
		"INSERT INTO t (id, a) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET a = excluded.a": NewInsert("t", []string{"id", "a"}, Replacing("id", "a = excluded.a")),
		"UPDATE t SET a = ?, n = n + ?, b = 0 WHERE id = ? AND c IS NULL":                   NewUpdate("t", Columns("a").Plus("n").Fixed("b", "= 0"), Columns("id").Fixed("c", "IS NULL")),
		"UPDATE t SET a = NULL, b = ? WHERE id = ? AND a = ?":                               NewUpdate("t", Terms{}.Fixed("a", "= NULL").Params("b"), Columns("id, a")),
	} {
		if s.Text() != want {
			t.Errorf("the statement is %s, want %s", s.Text(), want)
		}
	}
}
