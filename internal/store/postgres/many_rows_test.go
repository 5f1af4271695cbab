package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store/postgres/pipe"
	"github.com/perdure/perdure/internal/store/sql/catalog"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// TestEveryStatementRunsForManyRows checks that PostgreSQL accepts every declared statement, and
// also its variant for many rows if it has one.
func TestEveryStatementRunsForManyRows(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	all := statement.Declared()
	for _, of := range []map[string]*statement.Statement{catalog.Statements(dialect), catalog.ListStatements(dialect)} {
		for _, query := range of {
			all = append(all, query)
		}
	}
	var g pipe.Groups
	many := 0
	for _, query := range all {
		texts, err := g.Texts(t.Context(), conn, query)
		if err != nil {
			t.Errorf("%s: %v", query.Text(), err)
		}
		if _, err := conn.PgConn().Prepare(t.Context(), "", texts.One, nil); err != nil {
			t.Errorf("%s: %v", query.Text(), err)
			continue
		}
		if texts.Many == "" {
			continue
		}
		many++
		if _, err := conn.PgConn().Prepare(t.Context(), "", texts.Many, nil); err != nil {
			t.Errorf("%s, for many rows: %v", query.Text(), err)
		}
	}
	if many < 200 {
		t.Errorf("only %d of %d statements run for many rows", many, len(all))
	}
}
