package pipe

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// TestMultiRowStatementTexts checks the text of the statement for many rows for each kind of
// statement.
func TestMultiRowStatementTexts(t *testing.T) {
	column, adds, fixed := statement.Term{Column: "a"}, statement.Term{Column: "n", Adds: true}, statement.Term{Column: "b", Rest: "IS NOT NULL"}
	key := statement.Term{Column: "id"}
	for name, one := range map[string]struct {
		text  string
		group statement.Group
		want  string
	}{
		"insert": {
			group: statement.Group{Kind: statement.KindInsert, Table: "t", Columns: []string{"id", "a"}, OnConflict: "ON CONFLICT DO NOTHING"},
			want:  "INSERT INTO t (id, a) SELECT u.p1, u.p2 FROM unnest($1::text[], $2::text[]) AS u(p1, p2) ON CONFLICT DO NOTHING",
		},
		"insert returning": {
			group: statement.Group{Kind: statement.KindInsert, Table: "t", Columns: []string{"id", "a"}, Returning: "n"},
			want:  "INSERT INTO t (id, a) SELECT u.p1, u.p2 FROM unnest($1::text[], $2::text[]) AS u(p1, p2) RETURNING n, id, a",
		},
		"update": {
			group: statement.Group{Kind: statement.KindUpdate, Table: "t", Set: statement.Terms{column, adds}, Where: statement.Terms{key, fixed}},
			want:  "UPDATE t SET a = u.p1, n = n + u.p2 FROM unnest($1::text[], $2::text[], $3::text[]) AS u(p1, p2, p3) WHERE t.id = u.p3 AND t.b IS NOT NULL",
		},
		"deletion": {
			group: statement.Group{Kind: statement.KindDelete, Table: "t", Where: statement.Terms{key, column}},
			want:  "DELETE FROM t USING unnest($1::text[], $2::text[]) AS u(p1, p2) WHERE t.id = u.p1 AND t.a = u.p2",
		},
		"query": {
			text:  "SELECT a FROM t INDEXED BY idx_t WHERE id = ?1 AND (?2 = '' OR b = ?2)",
			group: statement.Group{Kind: statement.KindRead},
			want: "SELECT q.*, u.n FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS u(p1, p2, n)" +
				" CROSS JOIN LATERAL (SELECT a FROM t WHERE id = u.p1 AND (u.p2 = '' OR b = u.p2)) AS q",
		},
	} {
		s := newShape(one.text, &one.group)
		types := make([]uint32, s.params)
		for i := range types {
			types[i] = pgtype.TextOID
		}
		if got := s.statement(types, make([]bool, s.params)); got != one.want {
			t.Errorf("%s:\n%s, want\n%s", name, got, one.want)
		}
		if s.statement(make([]uint32, s.params), make([]bool, s.params)) != "" {
			t.Errorf("%s: parameters of an unknown type are written as an array", name)
		}
		if err := s.fits(make([]any, s.params+1)); err == nil || !strings.Contains(err.Error(), "arguments") {
			t.Errorf("%s: one argument too many gives %v", name, err)
		}
	}
	if newShape("SELECT 1", &statement.Group{Kind: statement.KindRead}) != nil {
		t.Error("a query without parameters has a statement for many rows")
	}
}
