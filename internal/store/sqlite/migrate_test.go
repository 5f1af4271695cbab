package sqlite

import (
	"database/sql"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
	"github.com/pressly/goose/v3"
)

// TestEveryOlderVersionIsMigrated checks that a database of each older version, with rows in all
// tables, is migrated to the newest version with the same rows.
func TestEveryOlderVersionIsMigrated(t *testing.T) {
	today := filled(t)
	for _, version := range versions(t) {
		t.Run(fmt.Sprint("from ", version), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "old.db")
			copied := madeAt(t, path, version, today)
			s := open(t, Options{Path: path})
			storetest.Invariants(t, s)
			for _, table := range copied {
				if got, want := dump(t, path, table), dump(t, today, table); !slices.Equal(got, want) {
					t.Errorf("%s holds\n%s\nwant\n%s", table, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			if err := begin(t, s, uuid.New(), nil); err != nil {
				t.Errorf("a write after it: %v", err)
			}
		})
	}
}

// TestEveryMigrationGoesBack checks that each newer version can be undone step by step and applied
// again.
func TestEveryMigrationGoesBack(t *testing.T) {
	for _, version := range versions(t) {
		path := filled(t)
		db := connect(t, path)
		if _, err := provider(t, db).DownTo(t.Context(), version); err != nil {
			t.Fatalf("down to %d: %v", version, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		storetest.Invariants(t, open(t, Options{Path: path}))
	}
}

// filled creates a database of the current version with rows in its tables, and returns its path.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "today.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	sound(t, s)
	id := uuid.New()
	if err := begin(t, s, id, []byte(`"`+strings.Repeat("i", 40_000)+`"`)); err != nil {
		t.Fatal(err)
	}
	for n := range int64(2) {
		err = do(t, s, id, func(st *store.State) (*store.Changes, error) {
			x := st.Execution
			x.Crashes, x.Panics, x.CheckpointSeq = 6, 2, n+1
			return &store.Changes{Execution: x, Checkpoint: &perdure.Checkpoint{Sequence: n + 1, State: []byte(`{}`), CreatedAt: st.Now}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// scored is the first version in which crashes, panics and unfit are scores.
const scored = 21

// madeAt creates a database of an older version with the rows of the current one, as far as it has
// columns for them. It returns the tables that are not empty.
func madeAt(t *testing.T, path string, version int64, today string) (copied []string) {
	t.Helper()
	db := connect(t, path)
	if _, err := provider(t, db).UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	exec := func(query string) int64 {
		r, err := db.ExecContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		n, _ := r.RowsAffected() // SQLite always returns the number
		return n
	}
	exec("PRAGMA foreign_keys = 0")
	exec("ATTACH '" + today + "' AS today")
	for _, table := range texts(t, db, "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'goose_%'") {
		columns := strings.Join(texts(t, db, "SELECT name FROM pragma_table_info('"+table+"', 'main') INTERSECT SELECT name FROM pragma_table_info('"+table+"', 'today')"), ", ")
		exec("DELETE FROM main." + table) // the default org, which a migration inserts
		if exec("INSERT INTO main."+table+" ("+columns+") SELECT "+columns+" FROM today."+table) > 0 {
			copied = append(copied, table)
		}
	}
	if version < scored { // today's scores were counts
		exec("UPDATE main.agent_execution SET crashes = crashes / 2, panics = panics / 2")
	}
	if len(copied) < 10 {
		t.Errorf("only %v have rows", copied)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return copied
}

func connect(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", dsn(path, url.Values{}))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // for ATTACH and pragmas
	return db
}

func provider(t *testing.T, db *sql.DB) *goose.Provider {
	t.Helper()
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// versions returns every version but the newest.
func versions(t *testing.T) (all []int64) {
	t.Helper()
	db := connect(t, filepath.Join(t.TempDir(), "none.db"))
	defer db.Close()
	for _, source := range provider(t, db).ListSources() {
		all = append(all, source.Version)
	}
	return all[:len(all)-1]
}

// dump returns the rows of a table as text, with the columns in alphabetical order.
func dump(t *testing.T, path, table string) []string {
	t.Helper()
	db := connect(t, path)
	defer db.Close()
	columns := texts(t, db, "SELECT 'quote(' || name || ')' FROM pragma_table_info('"+table+"') ORDER BY name")
	return texts(t, db, "SELECT "+strings.Join(columns, " || ' ' || ")+" FROM "+table+" ORDER BY 1")
}

func texts(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		all = append(all, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}
