package sqlite

import (
	"testing"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/floodtest"
	lib "modernc.org/sqlite/lib"
)

// TestOneOrgsRowsCostOthersNothing checks that the data and the waiting work of one org do not add
// costs for others: a quiet org's day must take as many steps of SQLite's virtual machine as on a
// separate server. The steps count the examined rows.
func TestOneOrgsRowsCostOthersNothing(t *testing.T) {
	s := open(t, Options{})
	floodtest.Run(t, func(use func(store.Store)) int {
		before := s.steps()
		use(s)
		return s.steps() - before
	}, 1000)
}

// steps returns how many steps the statements of all connections have taken.
func (s *Store) steps() int {
	total := 0
	for _, c := range append([]*conn{s.committer.conn}, s.pool.conns...) {
		for at := lib.Xsqlite3_next_stmt(c.tls, c.db, 0); at != 0; at = lib.Xsqlite3_next_stmt(c.tls, c.db, at) {
			total += int(lib.Xsqlite3_stmt_status(c.tls, at, lib.SQLITE_STMTSTATUS_VM_STEP, 0))
		}
	}
	return total
}
