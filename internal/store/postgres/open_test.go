package postgres

import (
	"context"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/postgres/postgrestest"
	"github.com/perdure/perdure/internal/store/relational"
	"github.com/perdure/perdure/internal/store/storetest"
	"github.com/pressly/goose/v3"
)

func execute(t *testing.T, url, query string, args ...any) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // it may run in a cleanup
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, query, args...); err != nil {
		t.Fatal(err)
	}
}

// bare returns the URL of a database without tables.
func bare(t *testing.T) string {
	t.Helper()
	url := postgrestest.Database(t, migrated)
	execute(t, url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	t.Cleanup(func() { // other tests expect tables in it, without statistics
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
			s, err := Open(t.Context(), Options{Plain: true, URL: url})
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
	storetest.Invariants(t, open(t, Options{Plain: true, URL: url}))
}

// TestMigrationsBesideServersThatWork migrates tables while servers write to them and read them.
func TestMigrationsBesideServersThatWork(t *testing.T) {
	for range 3 {
		url := bare(t)
		s := open(t, Options{Plain: true, URL: url})
		ids := []uuid.UUID{begin(t, s), begin(t, s), begin(t, s), begin(t, s)}
		for _, id := range ids {
			pendingTask(t, s, id, "key", 1000)
		}
		back(t, url, 6)
		addColumns(t, url, 6)
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
		if newest, _, _ := newestMigration(); err != nil || from != 6 || to != newest {
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
		storetest.Invariants(t, s)
	}
}

// addColumns adds the columns of all migrations after a version to the database. A server of this
// version, which writes them, then takes the role of a server of the previous version.
func addColumns(t *testing.T, url string, version int) {
	t.Helper()
	files, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	adds := regexp.MustCompile(`(?m)^ALTER TABLE \w+ ADD COLUMN IF NOT EXISTS [^;]+;`)
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

// TestCountsBecomeScores checks that counts since the checkpoint become scores.
func TestCountsBecomeScores(t *testing.T) {
	url := bare(t)
	s := open(t, Options{Plain: true, URL: url})
	id := begin(t, s)
	back(t, url, 32)
	execute(t, url, "UPDATE agent_execution SET crashes = 3, panics = 1, unfit = 2")
	if _, _, err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	x, err := s.Execution(t.Context(), org, id)
	if err != nil {
		t.Fatal(err)
	}
	if x.Crashes != store.AloneScore || x.Panics != 2 || x.Unfit != 4 {
		t.Fatalf("the scores are %d, %d and %d", x.Crashes, x.Panics, x.Unfit)
	}
	back(t, url, 32)
	execute(t, url, `DO $$ BEGIN
		ASSERT (SELECT (crashes, panics, unfit) = (3, 1, 2) FROM agent_execution), 'the scores do not become counts again';
	END $$`)
	if _, _, err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
}

// back undoes migrations down to a version.
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

// TestNewerVersion checks that a database that a newer program has changed is not modified.
func TestNewerVersion(t *testing.T) {
	url := emptyDatabase(t)
	execute(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (4711, true)")
	defer execute(t, url, "DELETE FROM goose_db_version WHERE version_id = 4711")
	_, err := Open(t.Context(), Options{Plain: true, URL: url})
	if !perdure.IsCode(err, perdure.Conflict) || !strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("a newer database gives %v, want conflict", err)
	}
}

// TestAnotherHistoryIsNoticed checks that a database that turns out to be another one is not
// written any more, and that Fatal is called once.
func TestAnotherHistoryIsNoticed(t *testing.T) {
	var told atomic.Int32
	url := emptyDatabase(t)
	s := open(t, Options{Plain: true, URL: url, Logger: quiet, Committers: 1, Fatal: func(error) { told.Add(1) }})
	same := open(t, Options{Plain: true, URL: url})
	if same.Epoch() != s.Epoch() || s.Epoch() == 0 {
		t.Errorf("two servers see the epochs %d and %d", s.Epoch(), same.Epoch())
	}
	id := begin(t, s)
	execute(t, url, "UPDATE store SET epoch = epoch + 1") // as after a restore
	execute(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err := note(t.Context(), s, id, uuid.New()); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a write to another history gives %v", err)
	}
	if told.Load() != 1 {
		t.Errorf("the server was told %d times", told.Load())
	}
	again := open(t, Options{Plain: true, URL: url})
	if again.Epoch() == s.Epoch() {
		t.Error("the other history has the same epoch")
	}
	noted(t, again, id, 0)
}

// TestHotStatementsUseIndexes checks that the shared statements and those of this store are valid
// in PostgreSQL, and that those of the hot paths do not scan whole tables.
func TestHotStatementsUseIndexes(t *testing.T) {
	queries := relational.Statements(words)
	queries["pending agents"], queries["pending alone"], queries["pending tasks"] = pendingAgents, pendingAlone, pendingTasks
	for kind, query := range due {
		queries["pick "+string(rune('0'+kind))] = query
	}
	conn, err := pgx.Connect(t.Context(), emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for name, value := range planning {
		if _, err := conn.Exec(t.Context(), "SET "+name+" = "+value); err != nil {
			t.Fatal(err)
		}
	}
	many := 0
	for name, query := range queries {
		usesIndexes(t, name, plan(t, conn, name, translate(query)))
		s := shapeOf(query)
		if s == nil {
			continue
		}
		var g grouped
		m, err := g.of(t.Context(), conn, query, s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if m.whole != "" {
			many++
			usesIndexes(t, name+", many", plan(t, conn, name+", many", m.whole))
			same := make([]bool, s.params)
			for i := range same {
				same[i] = i > 0
			}
			usesIndexes(t, name+", narrow", plan(t, conn, name+", narrow", s.statement(m.types, same)))
		}
	}
	if many < len(queries)*2/3 {
		t.Errorf("only %d of %d statements have one for many rows", many, len(queries))
	}
}

func usesIndexes(t *testing.T, name string, steps []string) {
	t.Helper()
	for _, step := range steps {
		if strings.Contains(step, "Seq Scan") {
			t.Errorf("%s: %s", name, step)
		}
	}
}

// TestReadersNoticeAnotherHistory checks that a reader that connects again detects another history
// like a writer, and returns nothing of it.
func TestReadersNoticeAnotherHistory(t *testing.T) {
	var told atomic.Int32
	url := emptyDatabase(t)
	s := open(t, Options{Plain: true, URL: url, Logger: quiet, Fatal: func(error) { told.Add(1) }})
	id := begin(t, s)
	execute(t, url, "UPDATE store SET epoch = epoch + 1") // as after a restore
	s.pool.Reset()
	if _, err := s.Execution(t.Context(), org, id); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a read of another history gives %v", err)
	}
	if told.Load() != 1 {
		t.Errorf("the server was told %d times", told.Load())
	}
}

// TestRowsAreFoundByTheirKeys checks that rows are found by their keys, and not by reading all rows
// of their execution, even without statistics.
func TestRowsAreFoundByTheirKeys(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"agent_entry", "task_execution", "agent_signal", "blob"} {
		for _, query := range []string{
			"SELECT 1 FROM ONLY " + table + " x WHERE agent_execution_id = ? AND id = ? FOR KEY SHARE OF x", // as foreign keys query
			"UPDATE " + table + " SET created_at = ? WHERE agent_execution_id = ? AND id = ?",
		} {
			steps := strings.Join(plan(t, conn, query[:7]+table, translate(query)), "\n")
			if !strings.Contains(steps, table+"_pkey") {
				t.Errorf("%s:\n%s", query, steps)
			}
		}
	}
}

func plan(t *testing.T, conn *pgx.Conn, name, query string) (steps []string) {
	t.Helper()
	described, err := conn.Prepare(t.Context(), name, query)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return nil
	}
	args := strings.TrimSuffix(strings.Repeat("NULL, ", len(described.ParamOIDs)), ", ")
	if args != "" {
		args = "(" + args + ")"
	}
	rows, err := conn.Query(t.Context(), `EXPLAIN EXECUTE "`+name+`"`+args, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	steps, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	return steps
}

// TestARestoredDumpIsAnotherHistory checks that a rewritten row of the store is another history, as
// after restoring a dump into the same database, even if all its values are the same.
func TestARestoredDumpIsAnotherHistory(t *testing.T) {
	url := emptyDatabase(t)
	s := open(t, Options{Plain: true, URL: url})
	execute(t, url, "BEGIN; CREATE TEMP TABLE dump AS SELECT * FROM store; DELETE FROM store; INSERT INTO store SELECT * FROM dump; COMMIT")
	if again := open(t, Options{Plain: true, URL: url}); again.Epoch() == s.Epoch() {
		t.Error("the restored store has the epoch of the one before")
	}
}

// live matches indexes that contain nothing that has ended, and the index of executions that are
// being deleted.
var live = regexp.MustCompile(`^idx_agent_execution_(waiting|lease|worker|held|embedded)\w* |^pruning_pkey `)

// TestListsUseIndexes checks that all statements of lists use indexes, whatever the filters.
func TestListsUseIndexes(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), emptyDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for name, value := range planning {
		if _, err := conn.Exec(t.Context(), "SET "+name+" = "+value); err != nil {
			t.Fatal(err)
		}
	}
	for name, query := range relational.ListStatements(words) {
		steps := plan(t, conn, name, translate(query))
		usesIndexes(t, query, steps)
		for i, step := range steps {
			if strings.Contains(step, "Sort") {
				t.Errorf("%s: %s", query, step)
			}
			_, index, found := strings.Cut(step, "Scan using ")
			if whole := i+1 == len(steps) || !strings.Contains(steps[i+1], "Index Cond"); found && whole && !live.MatchString(index) {
				t.Errorf("%s: %s: the whole index", query, step)
			}
		}
	}
}
