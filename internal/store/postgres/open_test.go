package postgres

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/postgres/postgrestest"
	"github.com/perdure/perdure/internal/store/relational"
	"github.com/perdure/perdure/internal/store/storetest"
)

func execute(t *testing.T, url, query string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// bare gives the URL of a database without tables.
func bare(t *testing.T) string {
	t.Helper()
	url := postgrestest.Database(t, migrated)
	execute(t, url, "DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	t.Cleanup(func() { // others expect tables in it
		if err := migrated(context.WithoutCancel(t.Context()), url); err != nil {
			t.Error(err)
		}
	})
	return url
}

// Several servers start at once on an empty database: all of them work.
func TestServersStartAtOnce(t *testing.T) {
	url := bare(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			s, err := Open(t.Context(), Options{URL: url})
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
	storetest.Invariants(t, open(t, Options{URL: url}))
}

// A database that a newer program has changed is left alone.
func TestNewerVersion(t *testing.T) {
	url := emptyDatabase(t)
	execute(t, url, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (4711, true)")
	defer execute(t, url, "DELETE FROM goose_db_version WHERE version_id = 4711")
	_, err := Open(t.Context(), Options{URL: url})
	if !perdure.IsCode(err, perdure.Conflict) || !strings.Contains(err.Error(), "4711") || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("a newer database gives %v, want conflict", err)
	}
}

// A database that turns out to be another one is written to no more, and the
// server is told once.
func TestAnotherHistoryIsNoticed(t *testing.T) {
	var told atomic.Int32
	url := emptyDatabase(t)
	s := open(t, Options{URL: url, Logger: quiet, Committers: 1, Fatal: func(error) { told.Add(1) }})
	same := open(t, Options{URL: url})
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
	again := open(t, Options{URL: url})
	if again.Epoch() == s.Epoch() {
		t.Error("the other history has the same epoch")
	}
	noted(t, again, id, 0)
}

// trips counts what goes over to the database and back.
type trips struct{ n atomic.Int64 }

func (c *trips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *trips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *trips) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
func (c *trips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (c *trips) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A hundred commands in one batch take as many round trips as one.
func TestRoundTripsDoNotGrow(t *testing.T) {
	s := open(t, Options{Committers: 1})
	var c trips
	s.db.config.Tracer = &c
	ids := make([]uuid.UUID, 100)
	for i := range ids {
		ids[i] = begin(t, s)
	}
	before := c.n.Load()
	if err := note(t.Context(), s, ids[0], uuid.New()); err != nil {
		t.Fatal(err)
	}
	one := c.n.Load() - before
	if one < 3 || one > 4 {
		t.Errorf("one command takes %d round trips", one)
	}

	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := do(t.Context(), s, ids[0], store.Needs{}, func(*store.State) (*store.Changes, error) {
			close(entered)
			<-leave
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	for _, id := range ids {
		queued := make(chan struct{})
		wg.Go(func() {
			if err := note(queueing{t.Context(), sync.OnceFunc(func() { close(queued) })}, s, id, uuid.New()); err != nil {
				t.Error(err)
			}
		})
		<-queued
	}
	before = c.n.Load()
	close(leave)
	wg.Wait()
	// One more ends the transaction of the command that was waited for.
	if many := c.n.Load() - before - 1; many != one {
		t.Errorf("a hundred commands take %d round trips, one takes %d", many, one)
	}
}

// The shared statements, and those of this store, are statements of PostgreSQL's,
// and those of the hot paths need no whole table.
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
	for _, set := range []string{"SET enable_seqscan = off", "SET plan_cache_mode = force_generic_plan"} {
		if _, err := conn.Exec(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	for name, query := range queries {
		for _, step := range plan(t, conn, name, query) {
			if strings.Contains(step, "Seq Scan") {
				t.Errorf("%s: %s", name, step)
			}
		}
	}
}

func plan(t *testing.T, conn *pgx.Conn, name, query string) (steps []string) {
	t.Helper()
	described, err := conn.Prepare(t.Context(), name, translate(query))
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

// A store's row that was written again, as the restore of a dump into the same
// database does, is another history, though every value in it is the same.
func TestARestoredDumpIsAnotherHistory(t *testing.T) {
	url := emptyDatabase(t)
	s := open(t, Options{URL: url})
	execute(t, url, "BEGIN; CREATE TEMP TABLE dump AS SELECT * FROM store; DELETE FROM store; INSERT INTO store SELECT * FROM dump; COMMIT")
	if again := open(t, Options{URL: url}); again.Epoch() == s.Epoch() {
		t.Error("the restored store has the epoch of the one before")
	}
}
