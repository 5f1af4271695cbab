package postgres

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// splitStatements returns the statements of a migration, each with its comments and annotations.
func splitStatements(up string) (all []string) {
	within, last := false, ""
	for line := range strings.Lines(strings.TrimPrefix(up, "-- +goose Up\n")) {
		last += line
		switch text := strings.TrimSpace(line); {
		case text == "-- +goose StatementBegin":
			within = true
		case text == "-- +goose StatementEnd":
			within = false
			all, last = append(all, last), ""
		case !within && strings.HasSuffix(text, ";"):
			all, last = append(all, last), ""
		}
	}
	return all
}

func queried(t *testing.T, url, query string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return all
}

// storedRows returns the rows of all tables, except those that describe the database itself. If a
// table is empty, it fails the test.
func storedRows(t *testing.T, url string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range queried(t, url, "SELECT relname::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname NOT IN ('goose_db_version', 'store', 'committer')") {
		if all[table] = rowsIn(t, url, table); len(all[table]) == 0 {
			t.Errorf("%s is empty", table)
		}
	}
	return all
}

// newColumns lists the columns that migrations after the first one have added. rowsIn leaves them
// out.
const newColumns = "ARRAY['link_key_id', 'details_blob', 'askers']"

func rowsIn(t *testing.T, url, table string) []string {
	t.Helper()
	return queried(t, url, "SELECT (to_jsonb(x) - "+newColumns+")::text FROM "+table+" x ORDER BY 1")
}

// sameRows checks that the tables still contain all these rows.
func sameRows(t *testing.T, url string, want map[string][]string) {
	t.Helper()
	for table, rows := range want {
		got := rowsIn(t, url, table)
		for _, row := range rows {
			if !slices.Contains(got, row) {
				t.Errorf("%s has lost the row %s", table, row)
			}
		}
	}
}

// catalogQueries select the definitions of everything in a schema, such as tables and indexes, one
// definition per row.
var catalogQueries = []string{
	"SELECT concat_ws(' ', 'relation', relname, relkind, relpersistence, relreplident, relrowsecurity, reloptions::text) FROM pg_class WHERE relnamespace = 'public'::regnamespace",
	"SELECT concat_ws(' ', 'column', c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated, a.attstorage, a.attcompression," +
		" a.attcollation::regcollation, 'statistics', coalesce(a.attstattarget, -1), pg_get_expr(d.adbin, d.adrelid), a.attoptions::text)" +
		" FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum" +
		" WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped AND c.relkind <> 'S'",
	"SELECT concat_ws(' ', 'index', pg_get_indexdef(indexrelid), indisunique, indisprimary, indisvalid) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'public'::regnamespace",
	"SELECT concat_ws(' ', 'constraint', conrelid::regclass, conname, convalidated, condeferrable, pg_get_constraintdef(oid)) FROM pg_constraint WHERE connamespace = 'public'::regnamespace",
	"SELECT concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), tgenabled) FROM pg_trigger t WHERE NOT tgisinternal",
	"SELECT concat_ws(' ', 'function', pg_get_functiondef(oid)) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
	"SELECT concat_ws(' ', 'sequence', seqrelid::regclass, seqtypid::regtype, seqstart, seqincrement, seqmax, seqmin, seqcache, seqcycle) FROM pg_sequence",
}

func schemaOf(t *testing.T, url string) (all []string) {
	t.Helper()
	for _, query := range catalogQueries {
		all = append(all, queried(t, url, query)...)
	}
	slices.Sort(all)
	return all
}

func sameSchema(t *testing.T, got, want []string) {
	t.Helper()
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("missing: %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("too much: %s", line)
		}
	}
	if len(want) < 500 {
		t.Errorf("only %d facts were compared", len(want))
	}
}
