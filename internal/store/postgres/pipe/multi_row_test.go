package pipe

import (
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// changes returns the [multiRow] of an UPDATE whose parameters are status, number and key.
func changes(t *testing.T) *multiRow {
	t.Helper()
	s := newShape("", &statement.Group{
		Kind: statement.KindUpdate, Table: "t", Set: statement.Terms{{Column: "status"}, {Column: "n", Adds: true}}, Where: statement.Terms{{Column: "id"}},
	})
	m := &multiRow{shape: s, types: []uint32{pgtype.TextOID, pgtype.Int8OID, pgtype.UUIDOID}}
	m.whole = s.statement(m.types, make([]bool, 3))
	return m
}

// rowsOf returns n rows with different keys.
func rowsOf(n int, status func(i int) string, number int64) (rows [][]any) {
	for i := range n {
		rows = append(rows, []any{status(i), number, []byte{byte(i)}})
	}
	return rows
}

func always(status string) func(int) string { return func(int) string { return status } }

// TestCommonParametersAreSingleValues checks that parameters that were equal within each of
// learnGroups groups are then sent as single values, whatever their values are, and other
// parameters as arrays.
func TestCommonParametersAreSingleValues(t *testing.T) {
	m := changes(t)
	worth := rowsOf(8, always("done"), 1)
	for range learnGroups {
		if query, _ := m.statementFor(worth, false); query != m.whole {
			t.Fatalf("a statement was made before it was known what is the same: %s", query)
		}
	}
	query, args := m.statementFor(rowsOf(3, always("failed"), 7), false)
	if want := "UPDATE t SET status = $1::text, n = n + $2::bigint FROM unnest($3::uuid[]) AS u(p3) WHERE t.id = u.p3"; query != want {
		t.Errorf("the statement is\n%s, want\n%s", query, want)
	}
	if args[0] != "failed" || args[1] != int64(7) {
		t.Errorf("the parameters are %v", args)
	}
	if _, array := args[2].(column); !array {
		t.Errorf("the keys go as %T", args[2])
	}
	if query, args = m.statementFor(rowsOf(3, strconv.Itoa, 7), false); query != m.whole || len(args) != 3 {
		t.Errorf("rows that differ go by %s", query)
	}
	if _, array := args[0].(column); !array {
		t.Errorf("texts that differ go as %T", args[0])
	}
}

// TestRareCommonParametersAddNoStatement checks that small groups add no narrowStatement, and that
// none is added if one of learnGroups groups has rows with different parameters.
func TestRareCommonParametersAddNoStatement(t *testing.T) {
	m := changes(t)
	for range 3 * learnGroups {
		m.statementFor(rowsOf(learnRows-1, always("done"), 1), false)
	}
	for range 3 {
		for range learnGroups - 1 {
			m.statementFor(rowsOf(8, always("done"), 1), false)
		}
		m.statementFor(rowsOf(8, strconv.Itoa, 1), false)
	}
	if len(m.narrows) > 0 {
		t.Errorf("%s was made", m.narrows[0].query)
	}
}

// TestStatementsAreBounded checks that a multiRow keeps at most maxNarrows narrowStatements, and
// that each statement has at least one array.
func TestStatementsAreBounded(t *testing.T) {
	const params = 40
	columns := make([]string, params)
	m := &multiRow{types: make([]uint32, params)}
	for i := range columns {
		columns[i], m.types[i] = "c"+strconv.Itoa(i), pgtype.Int8OID
	}
	m.shape = newShape("", &statement.Group{Kind: statement.KindInsert, Table: "t", Columns: columns})
	m.whole = m.shape.statement(m.types, make([]bool, params))
	made := map[string]bool{}
	for same := range params + 1 {
		rows := make([][]any, 2)
		for i := range rows {
			for c := range params {
				rows[i] = append(rows[i], int64(i*min(1, max(0, c+1-same))))
			}
		}
		m.statementFor(rows, true)
		query, _ := m.statementFor(rows, true)
		made[query] = true
		if !strings.Contains(query, "[]") {
			t.Errorf("there is no array in %s", query)
		}
	}
	if len(m.narrows) > maxNarrows || len(made) <= maxNarrows {
		t.Errorf("%d statements are kept of %d that were made", len(m.narrows), len(made))
	}
}
