package relational

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
		"a conflict on a column that is not written": func() { newInsert("t", []string{"id"}, replacing("key", "a = excluded.a")) },
		"a row that may not be returned":             func() { newInsert("t", []string{"id", "a"}, ignoring, returning("n")) },
		"a row that cannot be identified":            func() { newInsert("t", []string{"id"}, returning("n")) },
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
		"INSERT INTO t (id, a) VALUES (?, ?)":                                               newInsert("t", []string{"id", "a"}),
		"INSERT INTO t (id, a) VALUES (?, ?) RETURNING n":                                   newInsert("t", []string{"id", "a"}, returning("n")),
		"INSERT INTO t (id) VALUES (?) ON CONFLICT (id) DO NOTHING":                         newInsert("t", []string{"id"}, ignoringOn("id")),
		"INSERT INTO t (id, a) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET a = excluded.a": newInsert("t", []string{"id", "a"}, replacing("id", "a = excluded.a")),
		"UPDATE t SET a = ?, n = n + ?, b = 0 WHERE id = ? AND c IS NULL":                   newUpdate("t", columns("a").plus("n").fixed("b", "= 0"), columns("id").fixed("c", "IS NULL")),
		"UPDATE t SET a = NULL, b = ? WHERE id = ? AND a = ?":                               newUpdate("t", Terms{}.fixed("a", "= NULL").params("b"), columns("id, a")),
	} {
		if s.Text() != want {
			t.Errorf("the statement is %s, want %s", s.Text(), want)
		}
	}
}
