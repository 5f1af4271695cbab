package postgres

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/postgres/pipe"
	"github.com/perdure/perdure/internal/store/postgres/postgrestest"
	"github.com/perdure/perdure/internal/store/sql/catalog"
)

func execute(t *testing.T, url, query string, args ...any) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context()) // this function may run in a cleanup
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, query, args...); err != nil {
		t.Fatal(err)
	}
}

// TestAnotherHistoryIsNoticed checks that a write to a database whose epoch has changed returns
// unavailable and stores nothing, and that Fatal is called once.
func TestAnotherHistoryIsNoticed(t *testing.T) {
	var told atomic.Int32
	url := emptyDatabase(t)
	s := open(t, Options{without: optimizations{texts: true}, URL: url, Logger: quiet, Committers: 1, Fatal: func(error) { told.Add(1) }})
	same := open(t, Options{without: optimizations{texts: true}, URL: url})
	if same.Epoch() != s.Epoch() || s.Epoch() == 0 {
		t.Errorf("two servers see the epochs %d and %d", s.Epoch(), same.Epoch())
	}
	id := begin(t, s)
	execute(t, url, "UPDATE store SET epoch = epoch + 1") // as a restore does
	execute(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err := note(t.Context(), s, id, uuid.New()); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a write to another history gives %v", err)
	}
	if told.Load() != 1 {
		t.Errorf("the server was told %d times", told.Load())
	}
	again := open(t, Options{without: optimizations{texts: true}, URL: url})
	if again.Epoch() == s.Epoch() {
		t.Error("the other history has the same epoch")
	}
	noted(t, again, id, 0)
}

// TestHotStatementsUseIndexes checks that the statements of the hot paths are valid in PostgreSQL
// and have no sequential scans, also when they run for many rows.
func TestHotStatementsUseIndexes(t *testing.T) {
	queries := catalog.Statements(dialect)
	queries["pending agents"], queries["pending alone"], queries["pending tasks"] = dialect.PendingAgents, dialect.PendingAlone, dialect.PendingTasks
	for kind, query := range due {
		queries["pick "+string(rune('0'+kind))] = query
	}
	conn := withoutStatistics(t)
	for name, value := range planning {
		run(t, conn, "SET "+name+" = "+value)
	}
	many := 0
	for name, query := range queries {
		var g pipe.Groups
		texts, err := g.Texts(t.Context(), conn, query)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		usesIndexes(t, name, plan(t, conn, name, texts.One))
		if texts.Many != "" {
			many++
			usesIndexes(t, name+", many", plan(t, conn, name+", many", texts.Many))
			usesIndexes(t, name+", narrow", plan(t, conn, name+", narrow", texts.Narrow))
		}
	}
	if many < len(queries)*2/3 {
		t.Errorf("only %d of %d statements have one for many rows", many, len(queries))
	}
}

// withoutStatistics connects to a database that no other test has used. In other databases, tables
// may have been vacuumed while they were empty; PostgreSQL then assumes that they have no pages,
// and reads them completely.
func withoutStatistics(t *testing.T) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), postgrestest.NewDatabase(t, migrated))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func usesIndexes(t *testing.T, name string, steps []string) {
	t.Helper()
	for _, step := range steps {
		if strings.Contains(step, "Seq Scan") {
			t.Errorf("%s: %s", name, step)
		}
	}
}

// TestReadersNoticeAnotherHistory checks that a read over a new connection to a database whose
// epoch has changed returns unavailable, and that Fatal is called once.
func TestReadersNoticeAnotherHistory(t *testing.T) {
	var told atomic.Int32
	url := emptyDatabase(t)
	s := open(t, Options{without: optimizations{texts: true}, URL: url, Logger: quiet, Fatal: func(error) { told.Add(1) }})
	id := begin(t, s)
	execute(t, url, "UPDATE store SET epoch = epoch + 1") // as a restore does
	s.pool.Reset()
	if _, err := s.Execution(t.Context(), org, id); !perdure.IsCode(err, perdure.Unavailable) {
		t.Errorf("a read of another history gives %v", err)
	}
	if told.Load() != 1 {
		t.Errorf("the server was told %d times", told.Load())
	}
}

// TestRowsAreFoundByTheirKeys checks that PostgreSQL uses the primary key when it checks a foreign
// key and when a statement updates a row by its key, even without statistics.
func TestRowsAreFoundByTheirKeys(t *testing.T) {
	conn := withoutStatistics(t)
	run(t, conn, "SET plan_cache_mode = force_generic_plan")
	for _, table := range []string{"agent_entry", "task_execution", "agent_signal", "blob"} {
		for _, query := range []string{
			// This is the query that PostgreSQL uses to check a foreign key.
			"SELECT 1 FROM ONLY " + table + " x WHERE agent_execution_id = ? AND id = ? FOR KEY SHARE OF x",
			"UPDATE " + table + " SET created_at = ? WHERE agent_execution_id = ? AND id = ?",
		} {
			steps := strings.Join(plan(t, conn, query[:7]+table, pipe.Translate(query)), "\n")
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

// TestARestoredDumpIsAnotherHistory checks that the epoch changes if the row of the store is written
// again with the same values, as when a dump is restored.
func TestARestoredDumpIsAnotherHistory(t *testing.T) {
	url := emptyDatabase(t)
	s := open(t, Options{without: optimizations{texts: true}, URL: url})
	execute(t, url, "BEGIN; CREATE TEMP TABLE dump AS SELECT * FROM store; DELETE FROM store; INSERT INTO store SELECT * FROM dump; COMMIT")
	if again := open(t, Options{without: optimizations{texts: true}, URL: url}); again.Epoch() == s.Epoch() {
		t.Error("the restored store has the epoch of the one before")
	}
}

// live matches the names of indexes that stay small because they contain no ended executions, and
// of the index of executions that are being deleted.
var live = regexp.MustCompile(`^idx_agent_execution_(waiting|lease|worker|held|embedded)\w* |^pruning_pkey `)

// TestListsUseIndexes checks that the statements of lists have no sequential scans and do not sort.
// They may read a whole index only if its name matches `live`.
func TestListsUseIndexes(t *testing.T) {
	conn := withoutStatistics(t)
	for name, value := range planning {
		run(t, conn, "SET "+name+" = "+value)
	}
	for name, query := range catalog.ListStatements(dialect) {
		steps := plan(t, conn, name, pipe.Translate(query.Text()))
		usesIndexes(t, query.Text(), steps)
		for i, step := range steps {
			if strings.Contains(step, "Sort") {
				t.Errorf("%s: %s", query.Text(), step)
			}
			_, index, found := strings.Cut(step, "Scan using ")
			if whole := i+1 == len(steps) || !strings.Contains(steps[i+1], "Index Cond"); found && whole && !live.MatchString(index) {
				t.Errorf("%s: %s: the whole index", query.Text(), step)
			}
		}
	}
}
