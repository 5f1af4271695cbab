package local

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/pagecheck"
	"github.com/perdure/perdure/internal/sqlitelog"
	lib "modernc.org/sqlite/lib"
)

// soundness stores whether the database file of a store may be damaged, and runs the checks for
// damage.
type soundness struct {
	path   string
	mark   pagecheck.Mark
	state  pagecheck.State // the state in which the last process left the store
	passed atomic.Bool
	stop   context.CancelFunc
	ended  chan struct{}
}

// settle finds out how the last process left the store, and flushes the write-ahead log to disk. It
// also writes the mark that says that the store is open. On a full disk it writes the mark only
// after the flush of the log, which frees space.
func (s *soundness) settle(reserve *disk.Reserve) (err error) {
	if s.state, err = s.mark.Read(); err != nil {
		return err
	}
	if log, err := sqlitelog.LogSize(s.path); s.state == pagecheck.Open || err == nil && log > 0 {
		s.state = max(s.state, pagecheck.Unchecked)
	}
	now := max(s.state, pagecheck.Open)
	noRoom := s.mark.Write(now)
	if err := startLog(s.path, reserve); err != nil {
		return err
	}
	if noRoom == nil {
		return nil
	}
	return s.mark.Write(now)
}

// start runs the checks that must be done before the store is used. It checks the whole file if the
// last check found damage. If `before` is true, start also checks the whole file if the store was
// not closed cleanly and has not been checked since.
func (s *soundness) start(ctx context.Context, before bool) error {
	if err := s.check(ctx, (*pagecheck.File).Start); err != nil {
		return err
	}
	if s.state == pagecheck.Unchecked && !before {
		return nil
	}
	if s.state == pagecheck.Checked {
		s.passed.Store(true)
		return nil
	}
	if err := s.check(ctx, (*pagecheck.File).Whole); err != nil {
		return err
	}
	return s.pass()
}

// pass records on disk that the file is not damaged.
func (s *soundness) pass() error {
	s.passed.Store(true)
	return s.mark.Write(pagecheck.Open)
}

// background starts a check of the whole file, unless the file is known not to be damaged. If the
// check finds damage, w accepts no more writes.
func (s *soundness) background(w *writer) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.ended = stop, make(chan struct{})
	if s.passed.Load() {
		close(s.ended)
		return
	}
	go func() {
		defer close(s.ended)
		err := s.check(ctx, func(f *pagecheck.File, ctx context.Context) error {
			f.Pause = rest
			return f.Whole(ctx)
		})
		if err == nil {
			_ = s.pass() // if this fails, the next start repeats the check
			return
		}
		if ctx.Err() != nil || !perdure.IsCode(err, perdure.Internal) {
			return // the next start repeats the check
		}
		_ = s.mark.Write(pagecheck.Damaged) // if writing fails, the next check finds the damage
		_ = w.do(ctx, func(transaction) error {
			w.fail(err)
			return w.broken
		}, 0) // the callback has already handled the error
	}()
}

// rest pauses a check for twice the time that its last part took, because the worker's own work has
// priority. Error: the cause of ctx.
func rest(ctx context.Context, took time.Duration) error {
	timer := time.NewTimer(2 * took)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end stops the background check and waits for its end.
func (s *soundness) end() {
	if s.stop != nil {
		s.stop()
		<-s.ended
	}
}

// closed records on disk that the store was closed cleanly, unless the file may be damaged.
func (s *soundness) closed() error {
	if !s.passed.Load() {
		return nil
	}
	return s.mark.Remove()
}

// check runs the check `how` on a database connection of its own. It returns an internal error if
// the file is damaged.
func (s *soundness) check(ctx context.Context, how func(*pagecheck.File, context.Context) error) error {
	db, err := sql.Open("sqlite", dsn(s.path, url.Values{"mode": {"ro"}, "_pragma": {"cache_size(-256)"}}))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	err = how(&pagecheck.File{Read: func(ctx context.Context, f func(pagecheck.Snapshot) error) error {
		tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return err
		}
		return errors.Join(f(readSnapshot{ctx, tx}), tx.Rollback())
	}}, ctx)
	var found *pagecheck.Damage
	if errors.As(err, &found) || ctx.Err() == nil && isUnsound(err) {
		err = &perdure.Error{Code: perdure.Internal, Message: "the worker's store " + s.path + " is damaged; restore it from a copy", Err: err}
	}
	return errors.Join(err, db.Close())
}

// isUnsound reports whether err means that the file is damaged or not a database.
func isUnsound(err error) bool {
	switch resultCode(err) {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_IOERR:
		return true
	}
	return false
}

// readSnapshot is the database as one read transaction sees it, for [pagecheck.Snapshot].
type readSnapshot struct {
	ctx context.Context
	*sql.Tx
}

// Page implements [pagecheck.Snapshot]. It returns nil if the file has no page with this number.
func (m readSnapshot) Page(number uint32) (page []byte, err error) {
	err = m.QueryRowContext(m.ctx, "SELECT data FROM sqlite_dbpage WHERE pgno = ?", number).Scan(&page)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return page, err
}

// Roots implements [pagecheck.Snapshot].
func (m readSnapshot) Roots() (roots []uint32, err error) {
	rows, err := m.QueryContext(m.ctx, "SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var root uint32
		if err := rows.Scan(&root); err != nil {
			return nil, err
		}
		roots = append(roots, root)
	}
	return roots, rows.Err()
}

// Quick implements [pagecheck.Snapshot].
func (m readSnapshot) Quick() (verdict string, err error) {
	return verdict, m.QueryRowContext(m.ctx, "PRAGMA quick_check(1)").Scan(&verdict)
}
