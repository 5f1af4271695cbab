package sqlite

import (
	"testing"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/floodtest"
	lib "modernc.org/sqlite/lib"
)

// TestOneOrgsRowsCostOthersNothing runs [floodtest.Run] with the steps of SQLite's virtual machine
// as the cost, which grow with the examined rows. The data and the waiting work of one org must not
// add costs for another org.
func TestOneOrgsRowsCostOthersNothing(t *testing.T) {
	s := open(t, Options{})
	floodtest.Run(t, func(use func(store.Store)) int {
		before := s.steps()
		use(s)
		return s.steps() - before
	}, floodtest.Limits{Day: 1000, Command: 5000})
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
