package statement

import (
	"reflect"
	"strings"
	"testing"
)

// TestDeclarationsAgree checks that statements with the same text are declared alike, and that no
// query that can be grouped locks rows.
func TestDeclarationsAgree(t *testing.T) {
	byText := map[string]*Statement{}
	for _, s := range Declared() {
		if same := byText[s.text]; same != nil && !reflect.DeepEqual(same.group, s.group) {
			t.Errorf("%s is declared as %+v and as %+v", s.text, same.group, s.group)
		}
		byText[s.text] = s
		for _, lock := range []string{" FOR UPDATE", " FOR NO KEY UPDATE", " FOR SHARE", " FOR KEY SHARE"} {
			if s.group != nil && strings.Contains(s.text, lock) {
				t.Errorf("%s locks rows and does not run alone", s.text)
			}
		}
	}
	if len(byText) < 150 {
		t.Errorf("only %d statements are declared", len(byText))
	}
}

// TestImpossibleDeclarationsPanic checks that an insert panics when it is declared if it cannot run
// for many rows.
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

// TestTextsOfStatements checks the text for one row of declared inserts and updates.
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
