package postgres

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store/postgres/pipe"
	"github.com/perdure/perdure/internal/store/sql/catalog"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// statistics contains functions that set PostgreSQL's statistics to states in which it expects few
// rows of each execution, org and webhook.
var statistics = map[string]func(t *testing.T, conn *pgx.Conn){
	"never taken":        func(*testing.T, *pgx.Conn) {},
	"of empty tables":    func(t *testing.T, conn *pgx.Conn) { run(t, conn, "ANALYZE") },
	"of many short runs": func(t *testing.T, conn *pgx.Conn) { run(t, conn, shortRuns); run(t, conn, "ANALYZE") },
}

// TestRowsOfLongRunsAreFoundByTheirIDs checks the plans of all statements in each state of the
// statistics. PostgreSQL must not read all rows of an execution, org or webhook to find a few of
// them by their ids, because an execution, org or webhook may have very many rows. It must not read
// everything that has expired in all orgs.
func TestRowsOfLongRunsAreFoundByTheirIDs(t *testing.T) {
	queries := catalog.Statements(dialect)
	for name, query := range catalog.ListStatements(dialect) {
		queries["list: "+name] = query
	}
	for i, query := range statement.Declared() {
		if !strings.HasPrefix(query.Text(), "UPDATE worker ") { // an org has few workers
			queries[fmt.Sprint("declared: ", i)] = query
		}
	}
	for name, take := range statistics {
		t.Run("statistics "+name, func(t *testing.T) {
			conn := withoutStatistics(t)
			take(t, conn)
			run(t, conn, "SET plan_cache_mode = force_generic_plan")
			findByID(t, conn, "reading", queries)
			for setting, value := range planning {
				run(t, conn, fmt.Sprintf("SET %s = %s", setting, value))
			}
			findByID(t, conn, "writing", queries)
		})
	}
}

func run(t *testing.T, conn *pgx.Conn, query string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), query, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
}

func findByID(t *testing.T, conn *pgx.Conn, connection string, queries map[string]*statement.Statement) {
	t.Helper()
	for name, query := range queries {
		steps := plan(t, conn, connection+" "+name, pipe.Translate(query.Text()))
		if at := comparesIDs(steps); at >= 0 {
			t.Errorf("%s, %s:\n%s\n%s", connection, name, query.Text(), strings.Join(steps[max(at-2, 0):at+1], "\n"))
		}
	}
}

// wholeReads describes plans that read too many rows: an index finds rows by one condition, and a
// filter then drops most of them, although another index could find only the wanted rows. Each
// element has a pattern for the condition of the index, and a pattern for the filter.
var wholeReads = []struct{ index, filter *regexp.Regexp }{
	{regexp.MustCompile(`\b(agent_execution_id|org_id|webhook_id) = `), regexp.MustCompile(`\b(id|number|pos|task_id) = `)},
	{regexp.MustCompile(`\bexpires_at [<>]`), regexp.MustCompile(`\b(agent_execution_id|idempotency_key) = `)},
}

// comparesIDs searches a plan of PostgreSQL for a read that wholeReads describes. It returns the
// index of the line with the filter of that read, or -1 if there is none. The parameter `steps`
// contains the lines of the plan.
func comparesIDs(steps []string) int {
	for i := 1; i < len(steps); i++ {
		found, filter := steps[i-1], steps[i]
		if !strings.Contains(filter, "Filter: ") || !strings.Contains(found, "Index Cond: ") && !strings.Contains(found, "Recheck Cond: ") {
			continue
		}
		for _, w := range wholeReads {
			if w.index.MatchString(found) && w.filter.MatchString(filter) && !w.filter.MatchString(found) {
				return i
			}
		}
	}
	return -1
}

// shortRuns inserts 500 rows into each table, each row for a different execution. It ignores
// constraints.
const shortRuns = `DO $$
DECLARE tab regclass; con name; cols text; vals text;
BEGIN
	SET LOCAL session_replication_role = replica;
	FOR tab, con IN SELECT conrelid::regclass, conname FROM pg_constraint WHERE contype = 'c' AND connamespace = 'public'::regnamespace LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', tab, con);
	END LOOP;
	FOR tab IN SELECT oid::regclass FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT IN ('store', 'goose_db_version') LOOP
		SELECT string_agg(quote_ident(attname), ', '), string_agg(CASE atttypid::regtype::text
				WHEN 'uuid' THEN 'gen_random_uuid()' WHEN 'text' THEN quote_literal('x') || ' || i' WHEN 'bytea' THEN 'decode(md5(i::text), ' || quote_literal('hex') || ')'
				WHEN 'boolean' THEN 'true' ELSE 'i' END, ', ')
			INTO cols, vals FROM pg_attribute WHERE attrelid = tab AND attnum > 0 AND NOT attisdropped AND attnotnull AND attgenerated = '';
		EXECUTE format('INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM generate_series(1, 500) i', tab, cols, vals);
	END LOOP;
END $$`
