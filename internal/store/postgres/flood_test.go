package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/floodtest"
	"github.com/perdure/perdure/internal/store/postgres/postgrestest"
)

// TestOneOrgsRowsCostOthersNothing runs [floodtest.Run] twice. The cost is the number of table rows
// that were read. In the second run, PostgreSQL's statistics are those of a nearly empty store.
func TestOneOrgsRowsCostOthersNothing(t *testing.T) {
	for _, analyze := range []bool{false, true} {
		t.Run(fmt.Sprintf("statistics of an early day: %v", analyze), func(t *testing.T) { flood(t, analyze) })
	}
}

func flood(t *testing.T, analyze bool) {
	t.Helper()
	url := postgrestest.NewDatabase(t, migrated)
	watcher, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close(context.WithoutCancel(t.Context()))
	limits := floodtest.Limits{Day: 50, Command: 20}
	if analyze {
		limits.Added = 5 * floodtest.Flooded
	}
	visits := 0
	floodtest.Run(t, func(use func(store.Store)) int {
		before := rowsRead(t, watcher)
		s, err := Open(t.Context(), Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		use(s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		looked := rowsRead(t, watcher) - before
		if visits++; analyze && visits == 2 {
			execute(t, url, "ANALYZE")
		}
		return looked
	}, limits)
}

// rowsRead returns how many table rows all closed connections have read. A connection reports its
// count only when it ends, so rowsRead first waits until all other connections have ended.
func rowsRead(t *testing.T, watcher *pgx.Conn) (rows int) {
	t.Helper()
	for others := 1; others > 0; {
		err := watcher.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'").Scan(&others)
		if err != nil {
			t.Fatal(err)
		}
	}
	err := watcher.QueryRow(t.Context(), "SELECT coalesce(sum(seq_tup_read) + sum(idx_tup_fetch), 0)::bigint FROM pg_stat_user_tables").Scan(&rows)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
