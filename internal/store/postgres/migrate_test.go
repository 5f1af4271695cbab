package postgres

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store/migrationtest"
	"github.com/perdure/perdure/internal/store/postgres/postgrestest"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
	"github.com/pressly/goose/v3"
)

// bare returns the URL of a database that has no tables.
func bare(t *testing.T) string {
	t.Helper()
	url := postgrestest.Database(t, migrated)
	execute(t, url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	t.Cleanup(func() { // other tests expect the database to have tables, but no statistics
		execute(t, url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
		if err := migrated(context.WithoutCancel(t.Context()), url); err != nil {
			t.Error(err)
		}
	})
	return url
}

// TestServersStartAtOnce starts several servers at once on an empty database. All of them must
// work.
func TestServersStartAtOnce(t *testing.T) {
	url := bare(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := Open(t.Context(), Options{without: optimizations{texts: true}, URL: url})
			if err != nil {
				t.Error(err)
				return
			}
			begin(t, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	invariants.Check(t, open(t, Options{without: optimizations{texts: true}, URL: url}))
}

// TestMigrationsBesideServersThatWork checks that a migration succeeds while a server writes, that
// all writes succeed, and that every confirmed write is stored.
func TestMigrationsBesideServersThatWork(t *testing.T) {
	for range 3 {
		url := bare(t)
		s := open(t, Options{without: optimizations{texts: true}, URL: url})
		ids := []uuid.UUID{begin(t, s), begin(t, s), begin(t, s), begin(t, s)}
		for _, id := range ids {
			pendingTask(t, s, id, "key", 1000)
		}
		back(t, url, firstVersion)
		addColumns(t, url, firstVersion)
		stop, writing := make(chan struct{}), make(chan struct{}, 1)
		var notes atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := i; ; n++ {
					select {
					case <-stop:
						return
					default:
					}
					if err := note(t.Context(), s, ids[n%len(ids)], uuid.New()); err != nil {
						t.Errorf("a write: %v", err)
					}
					claimTasks(t, s)
					notes.Add(1)
					select {
					case writing <- struct{}{}:
					default:
					}
				}
			})
		}
		<-writing
		from, to, err := Migrate(t.Context(), url)
		close(stop)
		wg.Wait()
		if newest, _, _ := newestMigration(); err != nil || from != firstVersion || to != newest {
			t.Fatalf("from %d to %d: %v", from, to, err)
		}
		total := int64(0)
		for _, id := range ids {
			x, err := s.Execution(t.Context(), org, id)
			if err != nil {
				t.Fatal(err)
			}
			total += x.EntryCount
		}
		if total != notes.Load() {
			t.Errorf("%d notes were answered, %d are stored", notes.Load(), total)
		}
		invariants.Check(t, s)
	}
}

// addColumns adds to the database the columns and tables of all migrations after a version. The
// database then still has the old version, but a server of the newest version can write to it.
func addColumns(t *testing.T, url string, version int) {
	t.Helper()
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	adds := regexp.MustCompile(`(?m)^(ALTER TABLE \w+ ADD COLUMN|CREATE TABLE) IF NOT EXISTS [^;]+;`)
	for _, file := range files {
		if number, err := strconv.Atoi(path.Base(file)[:4]); err != nil || number <= version {
			continue
		}
		text, err := migrationFiles.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, add := range adds.FindAllString(string(text), -1) {
			execute(t, url, add)
		}
	}
}

// back undoes the migrations after a version.
func back(t *testing.T, url string, version int64) {
	t.Helper()
	config, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	files, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err == nil {
		_, err = provider.DownTo(t.Context(), version)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestNewerVersion checks that Open refuses a database that a newer program has changed, with the
// code conflict and an explanation.
func TestNewerVersion(t *testing.T) {
	url := emptyDatabase(t)
	execute(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (4711, true)")
	defer execute(t, url, "DELETE FROM goose_db_version WHERE version_id = 4711")
	_, err := Open(t.Context(), Options{without: optimizations{texts: true}, URL: url})
	if !perdure.IsCode(err, perdure.Conflict) || !strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("a newer database gives %v, want conflict", err)
	}
}

// oldDatabase returns the URL of a new database, restored from the dump of an earlier version in
// testdata.
func oldDatabase(t *testing.T, version int64) string {
	t.Helper()
	in, err := os.Open(fmt.Sprintf("testdata/%04d.sql.gz", version))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	url := bare(t)
	execute(t, url, regexp.MustCompile(`(?m)^\\(un)?restrict .*$`).ReplaceAllString(string(text), "")) // a command of psql
	return url
}

// oldVersions returns the versions of which testdata must contain a dump: all but the newest.
func oldVersions(t *testing.T) (all []int64) {
	t.Helper()
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		n, err := strconv.ParseInt(path.Base(name)[:4], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, n)
	}
	return all[:len(all)-1]
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

// changed returns a copy of the migrations. It replaces the text of each migration by the result of
// the function `change`, and leaves out a migration for which this result is "".
func changed(t *testing.T, change func(version int64, text string) string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	files := migrationsOf(t)
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		version, err := strconv.ParseInt(name[:4], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if text := change(version, string(text)); text != "" {
			all[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return all
}

// migrateWith relabels the database and runs the migrations in `files`.
func migrateWith(t *testing.T, url string, files fs.FS) error {
	t.Helper()
	if err := relabel(t.Context(), dialed(t, url)); err != nil {
		return err
	}
	config, err := parse(url)
	if err != nil {
		t.Fatal(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	_, _, err = migrate(t.Context(), db, files)
	return err
}

// TestDatabasesOfEveryVersionOpen checks that a database of each earlier version opens, keeps all
// its rows, can be written, and has the schema of a new database.
func TestDatabasesOfEveryVersionOpen(t *testing.T) {
	fresh := schemaOf(t, emptyDatabase(t))
	for _, version := range oldVersions(t) {
		url := oldDatabase(t, version)
		if has := queried(t, url, "SELECT max(version_id)::text FROM goose_db_version"); has[0] != fmt.Sprint(version) {
			t.Fatalf("the database has version %v", has)
		}
		before := storedRows(t, url)
		s := open(t, Options{URL: url, without: optimizations{texts: true}})
		invariants.Check(t, s)
		begin(t, s)
		sameRows(t, url, before)
		sameSchema(t, schemaOf(t, url), fresh)
	}
}

// TestDatabaseIsOnlyRelabelled checks a database that older migrations have brought to the version
// of the first migration. Relabelling it may change only goose's list of versions. Its schema must
// equal that of a new database after the first migration.
func TestDatabaseIsOnlyRelabelled(t *testing.T) {
	url := oldDatabase(t, firstVersion)
	rows, schema := storedRows(t, url), schemaOf(t, url)
	first := changed(t, func(version int64, text string) string {
		if version > firstVersion {
			return ""
		}
		return text
	})
	if err := migrateWith(t, url, first); err != nil {
		t.Fatal(err)
	}
	for table, want := range rows {
		if got := rowsIn(t, url, table); !slices.Equal(got, want) {
			t.Errorf("the rows of %s have changed", table)
		}
	}
	sameSchema(t, schemaOf(t, url), schema)
	if got := queried(t, url, "SELECT version_id::text FROM goose_db_version ORDER BY id"); !slices.Equal(got, []string{"0", fmt.Sprint(firstVersion)}) {
		t.Errorf("the versions are %v", got)
	}
	other := bare(t)
	if err := migrateWith(t, other, first); err != nil {
		t.Fatal(err)
	}
	sameSchema(t, schemaOf(t, other), schema)
}

// TestOlderDatabasesAreRefused checks that a database from before the first migration is refused and
// not changed. The error must name the commit that can convert it.
func TestOlderDatabasesAreRefused(t *testing.T) {
	url := oldDatabase(t, firstVersion)
	execute(t, url, "DELETE FROM goose_db_version WHERE version_id > 53")
	before, versions := schemaOf(t, url), queried(t, url, "SELECT version_id::text FROM goose_db_version")
	_, err := Open(t.Context(), Options{URL: url})
	if !perdure.IsCode(err, perdure.Conflict) || !strings.Contains(err.Error(), "the database has version 53") || !regexp.MustCompile(`commit [0-9a-f]{7} `).MatchString(err.Error()) {
		t.Errorf("an older database gives %v", err)
	}
	sameSchema(t, schemaOf(t, url), before)
	if !slices.Equal(queried(t, url, "SELECT version_id::text FROM goose_db_version"), versions) {
		t.Error("the versions have changed")
	}
	if _, err := OpenReadOnly(t.Context(), url); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("a look gives %v", err)
	}
}

// TestInterruptedMigrationsContinue checks that a migration which loses its connection at any
// statement leaves schema and version unchanged. After that, two servers must be able to migrate
// the database at the same time.
func TestInterruptedMigrationsContinue(t *testing.T) {
	longtest.Skip(t, "seconds")
	fresh, interruptions := schemaOf(t, emptyDatabase(t)), 0
	for _, version := range oldVersions(t) {
		url := oldDatabase(t, version)
		rows, schema := storedRows(t, url), schemaOf(t, url)
		for n := 0; ; n++ {
			cut, found := interruptedAfter(t, version+1, n)
			if !found {
				break
			}
			interruptions++
			if err := migrateWith(t, url, cut); err == nil {
				t.Fatalf("the migration after %d ends without statement %d", version, n)
			}
			sameSchema(t, schemaOf(t, url), schema)
			if has := queried(t, url, "SELECT max(version_id)::text FROM goose_db_version"); has[0] != fmt.Sprint(version) {
				t.Fatalf("after statement %d the version is %v", n, has)
			}
		}
		var servers sync.WaitGroup
		for range 2 {
			servers.Go(func() {
				if _, _, err := Migrate(t.Context(), url); err != nil {
					t.Errorf("from %d: %v", version, err)
				}
			})
		}
		servers.Wait()
		sameRows(t, url, rows)
		sameSchema(t, schemaOf(t, url), fresh)
	}
	if interruptions < 3 {
		t.Errorf("there were %d interruptions", interruptions)
	}
}

// interruptedAfter returns the migrations, but the one with this version loses its connection after
// n statements. The result `found` reports whether that migration has at least n statements.
func interruptedAfter(t *testing.T, version int64, n int) (files fs.FS, found bool) {
	t.Helper()
	files = changed(t, func(of int64, text string) string {
		if of != version {
			return text
		}
		up, down, _ := strings.Cut(text, "-- +goose Down")
		all := splitStatements(up)
		found = n <= len(all)
		kept := slices.Clone(all[:min(n, len(all))])
		return "-- +goose Up\n" + strings.Join(append(kept, "SELECT pg_terminate_backend(pg_backend_pid());\n"), "") + "-- +goose Down" + down
	})
	return files, found
}
