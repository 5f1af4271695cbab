package sqlite

import (
	"compress/gzip"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/migrationtest"
	"github.com/perdure/perdure/internal/store/sqlite/connection"
	"github.com/perdure/perdure/internal/store/sqlite/lock"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	"github.com/pressly/goose/v3"
	lib "modernc.org/sqlite"

	"github.com/perdure/perdure/internal/longtest"
)

// oldStore unpacks the database of an earlier version from testdata, and returns its path.
func oldStore(t *testing.T, version int64) string {
	t.Helper()
	in, err := os.Open(fmt.Sprintf("testdata/%04d.db.gz", version))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "perdure.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// oldVersions returns the versions of which testdata must contain a database: all but the newest.
func oldVersions(t *testing.T) (all []int64) {
	t.Helper()
	db := connect(t, filepath.Join(t.TempDir(), "none.db"))
	defer db.Close()
	for _, source := range provider(t, db).ListSources() {
		all = append(all, source.Version)
	}
	return all[:len(all)-1]
}

// TestStoresOfEveryVersionOpen checks that a store of each earlier version opens, keeps all its
// rows, can be written, and has the schema of a new store.
func TestStoresOfEveryVersionOpen(t *testing.T) {
	longtest.Skip(t, "seconds")
	fresh := emptyStore(t)
	for _, version := range oldVersions(t) {
		t.Run(fmt.Sprint("from ", version), func(t *testing.T) {
			path := oldStore(t, version)
			if got := texts(t, path, "SELECT max(version_id) FROM goose_db_version"); got[0] != fmt.Sprint(version) {
				t.Fatalf("the store has version %v", got)
			}
			before := rowsOf(t, path)
			s := open(t, Options{Path: path})
			invariants.Check(t, s)
			if err := begin(t, s, uuid.New(), nil); err != nil {
				t.Errorf("a write after it: %v", err)
			}
			sameRows(t, path, before)
			sameSchema(t, path, fresh)
		})
	}
}

// TestStoreIsOnlyRelabelled checks a store that older migrations have brought to the version of the
// first migration. Relabelling it may change only goose's list of versions. Its schema must equal
// that of a new store after the first migration.
func TestStoreIsOnlyRelabelled(t *testing.T) {
	longtest.Skip(t, "seconds")
	path := oldStore(t, firstVersion)
	rows, schema := rowsOf(t, path), schemaOf(t, path)
	if err := migrateTo(t.Context(), path, until(t, firstVersion)); err != nil {
		t.Fatal(err)
	}
	for table, want := range rows {
		if got := rowsIn(t, path, table); !slices.Equal(got, want) {
			t.Errorf("the rows of %s have changed", table)
		}
	}
	if !maps.Equal(schemaOf(t, path), schema) {
		t.Error("the tables have changed")
	}
	if got := texts(t, path, "SELECT version_id FROM goose_db_version ORDER BY id"); !slices.Equal(got, []string{"0", fmt.Sprint(firstVersion)}) {
		t.Errorf("the versions are %v", got)
	}
	fresh := filepath.Join(t.TempDir(), "fresh.db")
	if err := migrateTo(t.Context(), fresh, until(t, firstVersion)); err != nil {
		t.Fatal(err)
	}
	sameSchema(t, path, fresh)
}

// TestOlderStoresAreRefused checks that a store from before the first migration is refused and not
// changed. The error must name the commit that can convert it.
func TestOlderStoresAreRefused(t *testing.T) {
	longtest.Skip(t, "seconds")
	path := oldStore(t, firstVersion)
	execAll(t, path, "DELETE FROM goose_db_version WHERE version_id > 41")
	before, versions := schemaOf(t, path), texts(t, path, "SELECT version_id FROM goose_db_version")
	_, err := Open(t.Context(), Options{Path: path})
	if !perdure.IsCode(err, perdure.Conflict) || !strings.Contains(err.Error(), "the database has version 41") || !regexp.MustCompile(`commit [0-9a-f]{7} `).MatchString(err.Error()) {
		t.Errorf("an older store gives %v", err)
	}
	if !maps.Equal(schemaOf(t, path), before) || !slices.Equal(texts(t, path, "SELECT version_id FROM goose_db_version"), versions) {
		t.Error("the store has changed")
	}
	if _, err := OpenReadOnly(t.Context(), path); !perdure.IsCode(err, perdure.Conflict) || !strings.Contains(err.Error(), "commit") {
		t.Errorf("a look at it gives %v", err)
	}
}

// TestMigrationsGoBack checks that a store of each earlier version can be migrated, migrated back to
// that version, and opened again.
func TestMigrationsGoBack(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, version := range oldVersions(t) {
		path := oldStore(t, version)
		s, err := Open(t.Context(), Options{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		db := connect(t, path)
		if _, err := provider(t, db).DownTo(t.Context(), version); err != nil {
			t.Fatalf("down to %d: %v", version, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		invariants.Check(t, open(t, Options{Path: path}))
	}
}

// TestInterruptedMigrationsContinue checks that a store whose migration was interrupted at any
// statement can be opened, and then has the same rows and the schema of a new store.
func TestInterruptedMigrationsContinue(t *testing.T) {
	longtest.Skip(t, "seconds")
	fresh, images, versions := emptyStore(t), 0, oldVersions(t)
	newest, sampled := slices.Max(versions), longtest.Sample(t, 5)
	for _, version := range versions {
		before := rowsOf(t, oldStore(t, version))
		for image := range crashImages(t, version) {
			if version != newest && !sampled(fmt.Sprint(version, " ", filepath.Base(image))) {
				continue // only the store of the previous version is interrupted at each statement
			}
			images++
			invariants.Check(t, open(t, Options{Path: image}))
			sameRows(t, image, before)
			sameSchema(t, image, fresh)
		}
	}
	if images < 3 {
		t.Errorf("there were %d interruptions", images)
	}
}

// TestNoOtherServerOpensDuringAMigration checks that Open fails with unavailable or conflict while
// a migration of the file runs.
func TestNoOtherServerOpensDuringAMigration(t *testing.T) {
	path := oldStore(t, firstVersion)
	held, err := lock.Take(path) // as Open does before it migrates
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	atStatement(t, func() {
		tried++
		if _, err := Open(t.Context(), Options{Path: path}); !perdure.IsCode(err, perdure.Unavailable) && !perdure.IsCode(err, perdure.Conflict) {
			t.Errorf("another server gives %v", err)
		}
	})
	if err := migrateTo(t.Context(), path, withStops(t, migrationsOf(t))); err != nil {
		t.Fatal(err)
	}
	if tried == 0 {
		t.Error("nobody tried")
	}
	if err := held.Release(); err != nil {
		t.Fatal(err)
	}
	invariants.Check(t, open(t, Options{Path: path}))
}

// stop contains the function `do`, which is called before and after each statement of a migration.
var stop struct {
	sync.Mutex
	do func()
}

func init() {
	lib.MustRegisterScalarFunction("stop_here", 0, func(*lib.FunctionContext, []driver.Value) (driver.Value, error) {
		stop.do()
		return int64(1), nil
	})
}

// atStatement makes the migrations of withStops call `do` before and after each statement, until
// the test ends.
func atStatement(t *testing.T, do func()) {
	stop.Lock()
	stop.do = do
	t.Cleanup(stop.Unlock)
}

// crashImages migrates a store of that version. For each statement, it yields the path of a copy of
// the store's files, as they would remain if the process ended at that statement.
func crashImages(t *testing.T, version int64) func(yield func(string) bool) {
	t.Helper()
	path, images := oldStore(t, version), []string(nil)
	t.Run(fmt.Sprint("crash images of ", version), func(t *testing.T) {
		atStatement(t, func() {
			image := filepath.Join(filepath.Dir(path), fmt.Sprintf("image%d.db", len(images)))
			for _, end := range []string{"", "-wal"} {
				content, err := os.ReadFile(path + end)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err == nil {
					err = os.WriteFile(image+end, content, 0o600)
				}
				if err != nil {
					t.Error(err)
				}
			}
			images = append(images, image)
		})
		if err := migrateTo(t.Context(), path, withStops(t, migrationsOf(t))); err != nil {
			t.Fatal(err)
		}
	})
	return slices.Values(images)
}

// TestMigrationsAreNotEdited checks that the released migrations are unchanged.
func TestMigrationsAreNotEdited(t *testing.T) {
	migrationtest.Unchanged(t, migrationsOf(t), "testdata/migrations.sha256")
}

func migrationsOf(t *testing.T) fs.FS {
	t.Helper()
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// until returns the migrations up to that version.
func until(t *testing.T, version int64) fs.FS {
	t.Helper()
	return changed(t, migrationsOf(t), func(name, text string) string {
		if name[:4] > fmt.Sprintf("%04d", version) {
			return ""
		}
		return text
	})
}

// withStops returns the migrations, with a call of the SQL function stop_here before and after each
// statement. The first migration has no such calls.
func withStops(t *testing.T, files fs.FS) fs.FS {
	t.Helper()
	return changed(t, files, func(name, text string) string {
		if name[:4] == fmt.Sprintf("%04d", firstVersion) {
			return text
		}
		up, down, _ := strings.Cut(text, "-- +goose Down")
		up = strings.Replace(up, "-- +goose Up\n", "-- +goose Up\nSELECT stop_here();\n", 1)
		return regexp.MustCompile(`(?m);$`).ReplaceAllString(up, ";\nSELECT stop_here();") + "-- +goose Down" + down
	})
}

// changed returns a copy of `files`. It replaces the content of each file by the result of the
// function `change`, and leaves out a file for which this result is "".
func changed(t *testing.T, files fs.FS, change func(name, text string) string) fs.FS {
	t.Helper()
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	all := fstest.MapFS{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		if text := change(name, string(text)); text != "" {
			all[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return all
}

func emptyStore(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fresh.db")
	s, err := Open(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func connect(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", connection.DSN(path, url.Values{}))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

func provider(t *testing.T, db *sql.DB) *goose.Provider {
	t.Helper()
	p, err := goose.NewProvider(goose.DialectSQLite3, db, migrationsOf(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// rowsOf returns the rows of all tables, except those that describe the store itself. If a table is
// empty, it fails the test.
func rowsOf(t *testing.T, path string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, table := range texts(t, path, "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT IN ('goose_db_version', 'store')") {
		if all[table] = rowsIn(t, path, table); len(all[table]) == 0 {
			t.Errorf("%s is empty", table)
		}
	}
	return all
}

// newColumns lists the columns that migrations after the first one have added.
const newColumns = "('link_key_id', 'details_blob', 'askers')"

// rowsIn returns the rows of a table as text. The columns are in alphabetical order, without
// newColumns.
func rowsIn(t *testing.T, path, table string) []string {
	t.Helper()
	columns := texts(t, path, "SELECT 'quote(' || name || ')' FROM pragma_table_info('"+table+"') WHERE name NOT IN "+newColumns+" ORDER BY name")
	return texts(t, path, "SELECT "+strings.Join(columns, " || ' ' || ")+" FROM "+table+" ORDER BY 1")
}

// sameRows checks that the tables still contain all these rows.
func sameRows(t *testing.T, path string, want map[string][]string) {
	t.Helper()
	for table, rows := range want {
		got := rowsIn(t, path, table)
		for _, row := range rows {
			if !slices.Contains(got, row) {
				t.Errorf("%s has lost the row %s", table, row)
			}
		}
	}
}

var (
	comment = regexp.MustCompile(`--[^\n]*`)
	blank   = regexp.MustCompile(`\s+`)
	around  = regexp.MustCompile(` ?([(),]) ?`)
)

// schemaOf returns the statements that create a store's tables, indexes and triggers, without
// comments and spaces, and the columns of its tables.
func schemaOf(t *testing.T, path string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, row := range texts(t, path, "SELECT name || '|' || tbl_name || '|' || coalesce(sql, '') FROM sqlite_schema WHERE name <> 'sqlite_sequence'") {
		parts := strings.SplitN(row, "|", 3)
		// SQLite quotes the name of a table that was renamed.
		text := strings.ReplaceAll(comment.ReplaceAllString(parts[2], ""), `"`, "")
		text = around.ReplaceAllString(blank.ReplaceAllString(text, " "), "$1")
		columns := texts(t, path, "SELECT cid || ' ' || name || ' ' || type || ' ' || \"notnull\" || ' ' || coalesce(dflt_value, '') || ' ' || pk FROM pragma_table_info('"+parts[0]+"')")
		all[parts[0]] = parts[1] + "\n" + text + "\n" + strings.Join(columns, "\n")
	}
	return all
}

func sameSchema(t *testing.T, path, other string) {
	t.Helper()
	got, want := schemaOf(t, path), schemaOf(t, other)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s is\n%s\nand in the other store\n%s", name, got[name], want[name])
		}
		delete(got, name)
	}
	for name := range got {
		t.Errorf("%s is only in one of the stores", name)
	}
	if len(want) < 90 {
		t.Errorf("only %d tables and indexes were compared", len(want))
	}
}

func execAll(t *testing.T, path, query string) {
	t.Helper()
	db := connect(t, path)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func texts(t *testing.T, path, query string) (all []string) {
	t.Helper()
	db := connect(t, path)
	defer db.Close()
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

// TestNewestTablesAreNotMigrated checks that migrate does not open the database through the migration
// library if the tables have the newest version. The test gives migrate a path at which the library
// can open nothing.
func TestNewestTablesAreNotMigrated(t *testing.T) {
	s := open(t, Options{})
	nowhere := filepath.Join(t.TempDir(), "missing", "a.db")
	try := func() (migrated error) {
		if err := s.pool.Read(t.Context(), func(v connection.View) error {
			migrated = migrate(t.Context(), nowhere, v)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return migrated
	}
	if err := try(); err != nil {
		t.Errorf("tables of the newest version: %v", err)
	}
	execAll(t, s.path, "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)")
	if err := try(); err == nil {
		t.Error("tables of an older version are not migrated")
	}
}
