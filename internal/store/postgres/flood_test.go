package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/floodtest"
)

// TestOneOrgsRowsCostOthersNothing runs [floodtest.Run] with the number of table rows read as the
// cost. The data and the waiting work of one org must not add costs for another org.
func TestOneOrgsRowsCostOthersNothing(t *testing.T) {
	url := emptyDatabase(t)
	watcher, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close(t.Context())
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
		return rowsRead(t, watcher) - before
	}, 50)
}

// rowsRead returns how many table rows all closed connections have read, because a connection
// reports its count when it ends. It waits for connections that are about to end.
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
