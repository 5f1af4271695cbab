package transfer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/postgres"
	"github.com/perdure/perdure/internal/store/sql/schema"
	"github.com/perdure/perdure/internal/store/sqlite"
)

func TestMain(m *testing.M) { os.Exit(opentest.Main(m)) }

// target returns the URL of an empty database.
func target(t *testing.T) string {
	t.Helper()
	url := opentest.URL(t)
	t.Cleanup(func() { run(t, url, "DROP TABLE IF EXISTS copying") }) // a table of an unfinished copy
	return url
}

func run(t *testing.T, url, query string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, query); err != nil {
		t.Fatal(err)
	}
}

func alter(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

func options(from, to string) Options {
	return Options{From: from, To: to, ToName: "elsewhere", Now: perdure.AtMilli(1_700_000_000_000)}
}

func wantCode(t *testing.T, err error, code perdure.Code, says string) {
	t.Helper()
	if !perdure.IsCode(err, code) || !strings.Contains(err.Error(), says) {
		t.Errorf("the error is %v; want %s with %q", err, code, says)
	}
}

func epochOf(t *testing.T, path string) uint64 {
	t.Helper()
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.Epoch()
}

// wantOpen opens the store in a database, as a server does, and returns its epoch. It fails the
// test if the store cannot be opened.
func wantOpen(t *testing.T, url string) uint64 {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	return s.Epoch()
}

// TestBothStoresHaveTheSameTablesAndColumns checks that SQLite and PostgreSQL have the same tables
// and columns. A copy would lose the data of a column that only SQLite has. The test also removes a
// table and a column, and checks that the difference is reported.
func TestBothStoresHaveTheSameTablesAndColumns(t *testing.T) {
	source, err := sqlite.OpenSource(t.Context(), filled(t))
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	there, err := postgres.OpenTarget(t.Context(), target(t))
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	here, err := source.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(here) < 20 {
		t.Fatalf("only %d tables were found", len(here))
	}
	if err := schema.SameTables(here, there.Tables()); err != nil {
		t.Error(err)
	}
	short := there.Tables()[1:]
	if err := schema.SameTables(here, short); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("a table is missing, and it is said: %v", err)
	}
	lost := here[0]
	lost.Columns = lost.Columns[1:]
	if err := schema.SameTables(append([]schema.Table{lost}, here[1:]...), there.Tables()); !perdure.IsCode(err, perdure.Conflict) {
		t.Errorf("a column is missing, and it is said: %v", err)
	}
}

// TestEveryColumnOfEveryTableIsCopied checks that rows with values in every column are copied, and
// that the comparison finds no difference. The target must have the epoch of the source. An API key
// that is inserted into the target later must get a larger number than the copied keys. The source
// must be closed to servers, and a second call must do nothing.
func TestEveryColumnOfEveryTableIsCopied(t *testing.T) {
	from, to := filled(t), target(t)
	epoch := epochOf(t, from)
	result, err := Copy(t.Context(), options(from, to))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range result.Tables {
		if c.Rows == 0 {
			t.Errorf("the test has no row of %s", c.Table)
		}
	}
	if got := wantOpen(t, to); got != epoch || result.Epoch != epoch {
		t.Errorf("the epoch is %d, in the result %d; it was %d", got, result.Epoch, epoch)
	}
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: from})
	wantCode(t, err, perdure.Conflict, "moved to elsewhere")
	run(t, to, `DO $$ BEGIN
		INSERT INTO api_key (id, org_id, name, role, hash, created_at) VALUES (gen_random_uuid(), 'o', 'n', 'admin', 'x', 1);
		ASSERT (SELECT number FROM api_key WHERE name = 'n') = (SELECT max(number) FROM api_key) AND (SELECT count(*) FROM api_key WHERE number = (SELECT max(number) FROM api_key)) = 1;
	END $$`)

	again, err := Copy(t.Context(), options(from, to))
	if err != nil || !again.Already {
		t.Errorf("the same command again gives %+v, %v", again, err)
	}
	_, err = Copy(t.Context(), options(from, target(t)))
	wantCode(t, err, perdure.Conflict, "moved to elsewhere")
}

// TestAKeptSourceAndItsCopyHaveDifferentEpochs checks that a copy with the option Keep has a
// different epoch than its source. Servers must be able to open the source, which keeps its epoch.
func TestAKeptSourceAndItsCopyHaveDifferentEpochs(t *testing.T) {
	from, to := filled(t), target(t)
	epoch := epochOf(t, from)
	o := options(from, to)
	o.Keep = true
	if _, err := Copy(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if wantOpen(t, to) == epoch {
		t.Error("the copy has the epoch of the source")
	}
	if epochOf(t, from) != epoch {
		t.Error("the source has another epoch")
	}
}

// many adds rows, so that a table needs several batches.
func many(t *testing.T, path string, rows int) {
	t.Helper()
	alter(t, path, fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO log_record (agent_execution_id, pos, seq, type, created_at, fields) SELECT x'%x', 1000 + i, 1000 + i, 'error', i, 'field ' || i FROM n`, rows, id(1)))
}

var errEnough = errors.New("enough")

// TestAnInterruptedCopyGoesOn checks that a copy that was interrupted three times continues each
// time and then succeeds. Until then, servers cannot open the target.
func TestAnInterruptedCopyGoesOn(t *testing.T) {
	from, to := filled(t), target(t)
	many(t, from, 2*batchRows+5)
	epoch := epochOf(t, from)
	seen := int64(0)
	for _, step := range []struct {
		when func(p Progress) bool
	}{
		{func(p Progress) bool { return p.Table == "log_record" && p.Rows == batchRows }},
		{func(p Progress) bool { return p.Table == "log_record" && p.Rows == 2*batchRows }},
		{func(p Progress) bool { return p.Step == StepCompare }},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		o := options(from, to)
		o.Told = func(p Progress) {
			if p.Table == "log_record" && p.Step == StepCopy && p.Rows < seen {
				t.Errorf("after %d rows it is at %d", seen, p.Rows)
			}
			if p.Table == "log_record" && p.Step == StepCopy {
				seen = p.Rows
			}
			if step.when(p) {
				cancel(errEnough)
			}
		}
		if _, err := Copy(ctx, o); err == nil {
			t.Fatal("the copy was not interrupted")
		}
		cancel(nil)
		_, err := postgres.Open(t.Context(), postgres.Options{URL: to})
		wantCode(t, err, perdure.Conflict, "not finished")
		_, _, err = postgres.Migrate(t.Context(), to)
		wantCode(t, err, perdure.Conflict, "not finished")
	}
	result, err := Copy(t.Context(), options(from, to))
	if err != nil || !result.Continued {
		t.Fatalf("the last one gives %+v, %v", result, err)
	}
	if wantOpen(t, to) != epoch {
		t.Error("the epoch is another one")
	}
}

// TestASourceThatWentOnIsCopiedAnew checks that an interrupted copy starts from the beginning if a
// server opened the source after the interruption.
func TestASourceThatWentOnIsCopiedAnew(t *testing.T) {
	from, to := filled(t), target(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := options(from, to)
	o.Told = func(p Progress) {
		if p.Step == StepCompare {
			cancel()
		}
	}
	if _, err := Copy(ctx, o); err == nil {
		t.Fatal("the copy was not interrupted")
	}
	epochOf(t, from) // opens the source, as a server does
	alter(t, from, "DELETE FROM log_record; DELETE FROM log_chunk")
	many(t, from, 7)
	result, err := Copy(t.Context(), options(from, to))
	if err != nil || result.Continued {
		t.Fatalf("it gives %+v, %v", result, err)
	}
	for _, c := range result.Tables {
		if c.Table == "log_record" && c.Rows != 7 {
			t.Errorf("%d rows of the log were copied, not 7", c.Rows)
		}
	}
}

// TestCrashBetweenClosingAndOpening checks the state after a crash between closing the source and
// opening the target. Servers must not be able to open either of the stores. The same command must
// finish the copy.
func TestCrashBetweenClosingAndOpening(t *testing.T) {
	from, to := filled(t), target(t)
	epoch := epochOf(t, from)
	ctx, cancel := context.WithCancel(t.Context())
	o := options(from, to)
	tables := 0
	o.Told = func(p Progress) {
		if p.Step == StepCopy && p.Done {
			tables++
		}
		if p.Step == StepCompare {
			cancel()
		}
	}
	if _, err := Copy(ctx, o); err == nil || tables < 20 {
		t.Fatalf("interrupted after %d tables, %v", tables, err)
	}
	there, err := postgres.OpenTarget(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	copying, err := there.Unfinished(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source, err := sqlite.OpenSource(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	if err := source.Move(t.Context(), sqlite.Moved{To: "elsewhere", Copy: copying.ID, At: o.Now}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(source.Close(), there.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(t.Context(), sqlite.Options{Path: from})
	wantCode(t, err, perdure.Conflict, "moved")
	_, err = postgres.Open(t.Context(), postgres.Options{URL: to})
	wantCode(t, err, perdure.Conflict, "not finished")
	if result, err := Copy(t.Context(), options(from, to)); err != nil || !result.Continued {
		t.Fatalf("it gives %+v, %v", result, err)
	}
	if wantOpen(t, to) != epoch {
		t.Error("the epoch is another one")
	}
}

// TestFieldsThatAreNotUTF8AreMended checks that event fields with bytes that are not UTF-8, which
// an older server accepted, are copied with U+FFFD in their place and are counted.
func TestFieldsThatAreNotUTF8AreMended(t *testing.T) {
	from, to := filled(t), target(t)
	alter(t, from, `UPDATE log_record SET fields = CAST(x'7b2261223a22ff227d' AS TEXT)`)
	result, err := Copy(t.Context(), options(from, to))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range result.Tables {
		if want := c.Table == "log_record"; (c.Mended == c.Rows) != want && c.Mended != 0 {
			t.Errorf("%d texts of %d rows of %s were mended", c.Mended, c.Rows, c.Table)
		}
		if c.Table == "log_record" && c.Mended == 0 {
			t.Error("nothing was mended")
		}
	}
	run(t, to, `DO $$ BEGIN ASSERT (SELECT bool_and(fields::text = '{"a":"' || chr(65533) || '"}') FROM log_record); END $$`)
}
