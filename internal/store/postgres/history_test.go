package postgres

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestADatabaseThatWentBackIsFatal checks that connections for writing and for reading are refused
// if the database has lost committed transactions, and that Fatal is called. It is no loss if the
// row of a committer was deleted as stale.
func TestADatabaseThatWentBackIsFatal(t *testing.T) {
	for name, c := range map[string]struct {
		query string
		age   time.Duration
		fatal bool
	}{
		"nothing happened":               {"SELECT 1", 0, false},
		"the numbers went up":            {"UPDATE committer SET batch = batch + 7", 0, false},
		"a number is lower":              {"UPDATE committer SET batch = batch - 1", 0, true},
		"the row is from before":         {"DELETE FROM committer", 0, true},
		"the row was deleted as stale":   {"DELETE FROM committer", staleCommitter, false},
		"the row of a server that stays": {"DELETE FROM committer", staleCommitter - 2*time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			told := make(chan error, 2)
			s := open(t, Options{without: optimizations{texts: true}, Logger: quiet, Committers: 1, Fatal: func(err error) { told <- err }})
			id := begin(t, s)
			for range 3 {
				if err := note(t.Context(), s, id, uuid.New()); err != nil {
					t.Fatal(err)
				}
			}
			writer := s.committers[0].id
			s.db.history.mu.Lock()
			last := s.db.history.known[writer]
			s.db.history.mu.Unlock()
			if last.number < 3 {
				t.Fatalf("the newest transaction is known as %d", last.number)
			}
			s.db.history.note(writer, last.number, last.at.Add(-c.age))
			execute(t, s.db.config.ConnString(), c.query)
			for range 2 {
				conn, err := s.db.connect(t.Context())
				if (err != nil) != c.fatal {
					t.Errorf("a connection that writes: %v", err)
				}
				if err == nil {
					_ = conn.Close(t.Context())
				}
			}
			s.pool.Reset()
			if err := s.pool.Ping(t.Context()); (err != nil) != c.fatal {
				t.Errorf("a connection that reads: %v", err)
			}
			if got := len(told); got != 1 && c.fatal || got != 0 && !c.fatal {
				t.Errorf("the server was told %d times that it is over", got)
			}
		})
	}
}
