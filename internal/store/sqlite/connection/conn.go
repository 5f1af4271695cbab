// Package connection calls SQLite through its C interface. It contains connections, their compiled
// statements and the pool of reading connections, and determines how the write-ahead log is written
// and synced.
package connection

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/perdure/perdure/internal/store/sql/statement"
	lib "modernc.org/sqlite/lib"
)

// maxStatements is the maximum number of compiled statements that a connection caches. In practice
// a connection uses fewer; only updates of varying columns could produce more.
const maxStatements = 512

// Conn is a connection with its compiled statements. It must be used by one goroutine at a time.
type Conn struct {
	*native
	stmts map[string]*stmt
	Later *Later // executes the deferred writes; nil if writes are never deferred
}

// Access says whether a connection may write, as a flag of sqlite3_open_v2.
type Access int32

const (
	// Reading opens a file only for reading.
	Reading Access = lib.SQLITE_OPEN_READONLY
	// Writing opens a file for reading and writing.
	Writing Access = lib.SQLITE_OPEN_READWRITE
)

// DSN returns the data source name of the file for database/sql. It contains the pragmas that every
// connection sets.
func DSN(path string, query url.Values) string {
	for _, pragma := range everywhere {
		query.Add("_pragma", pragma)
	}
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + escaped + "?" + query.Encode()
}

// everywhere lists the pragmas that every connection sets.
var everywhere = []string{"busy_timeout(10000)", "foreign_keys(1)", "temp_store(memory)"}

// Open opens an existing database file.
func Open(ctx context.Context, path string, mode Access, pragmas ...string) (*Conn, error) {
	n, err := openNative(path, int32(mode))
	if err != nil {
		return nil, err
	}
	c := &Conn{native: n, stmts: map[string]*stmt{}}
	for _, pragma := range append(everywhere[:len(everywhere):len(everywhere)], pragmas...) {
		if err := c.once(ctx, "PRAGMA "+pragma); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// once compiles and runs a statement without caching the compiled statement.
func (c *Conn) once(ctx context.Context, query string) error {
	_, err := View{Conn: c, ctx: ctx}.Run(query)
	if s := c.stmts[query]; s != nil {
		s.close()
		delete(c.stmts, query)
	}
	return err
}

// Close closes the connection and its statements.
func (c *Conn) Close() error {
	c.forget()
	return c.native.close()
}

func (c *Conn) forget() {
	for _, s := range c.stmts {
		s.close()
	}
	clear(c.stmts)
}

// prepared returns a compiled statement that is not running: the cached one, or a new one that is
// not cached if the cached one is running.
func (c *Conn) prepared(query string) (*stmt, error) {
	known := c.stmts[query]
	if known != nil && !known.running {
		return known, nil
	}
	s, err := c.compile(query)
	switch {
	case err != nil:
		return nil, err
	case known != nil:
		s.once = true
		return s, nil
	case len(c.stmts) >= maxStatements:
		c.forgetIdle()
	}
	c.stmts[query] = s
	return s, nil
}

func (c *Conn) compile(query string) (*stmt, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", query, err)
	}
	return s, nil
}

// forgetIdle closes all cached statements that are not running.
func (c *Conn) forgetIdle() {
	for query, s := range c.stmts {
		if !s.running {
			s.close()
			delete(c.stmts, query)
		}
	}
}

// watch interrupts the connection's statements when ctx ends. The returned function ends the watch.
func (c *Conn) watch(ctx context.Context) (release func()) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		atomic.StoreInt32(c.stop(), 1)
		close(ended)
	})
	return func() {
		if !stop() {
			<-ended
			atomic.StoreInt32(c.stop(), 0)
		}
	}
}

// With returns a view of the connection for a caller with the context ctx. The end of ctx interrupts
// the statements of the view.
func (c *Conn) With(ctx context.Context) View { return View{Conn: c, ctx: ctx} }

// Snapshot calls f with a view that sees a consistent snapshot of the file.
func (c *Conn) Snapshot(ctx context.Context, f func(v View) error) error {
	always := c.With(context.Background())
	if _, err := always.Run("BEGIN"); err != nil {
		return err
	}
	unwatch := c.watch(ctx)
	err := f(View{Conn: c, ctx: ctx, watched: true})
	unwatch()
	_, endErr := always.Run("ROLLBACK")
	if err == nil {
		err = endErr
	}
	return err
}

// Cost is how often a statement has run, and how many steps of SQLite's virtual machine it has
// taken in all.
type Cost struct{ Runs, Steps int }

// Costs returns the costs of the connection's compiled statements, by text.
func (c *Conn) Costs() map[string]Cost {
	all := map[string]Cost{}
	for query, s := range c.stmts {
		all[query] = Cost{
			Runs:  int(lib.Xsqlite3_stmt_status(c.tls, s.handle, lib.SQLITE_STMTSTATUS_RUN, 0)),
			Steps: int(lib.Xsqlite3_stmt_status(c.tls, s.handle, lib.SQLITE_STMTSTATUS_VM_STEP, 0)),
		}
	}
	return all
}

// View is a connection for one caller, with the caller's context.
type View struct {
	*Conn
	ctx context.Context
	// watched reports that the connection is already interrupted when the context ends, so the view
	// need not watch the context.
	watched bool
	// now reports that the view belongs to the goroutine that executes the deferred writes. Its
	// statements must not wait for these writes.
	now bool
}

// use is one run of a statement, from begin to finish.
type use struct {
	*stmt
	view    View
	unwatch func() // ends the watch of the context; may be nil
}

// begin starts a statement. The caller must call finish on the result.
func (v View) begin(query string, args []any) (use, error) {
	if err := v.ctx.Err(); err != nil {
		return use{}, err
	}
	if !v.now && v.Later != nil && v.Later.on {
		if err := v.Later.settle(); err != nil {
			return use{}, err
		}
	}
	s, err := v.prepared(query)
	if err != nil {
		return use{}, err
	}
	u := use{stmt: s, view: v}
	if !v.watched && v.ctx.Done() != nil {
		u.unwatch = v.watch(v.ctx)
	}
	if err := s.begin(args); err != nil {
		return use{}, u.finish(err)
	}
	return u, nil
}

// finish ends the use of the statement and returns err. If the context has interrupted the
// statement, it returns the context's error instead.
func (u use) finish(err error) error {
	if u.once {
		u.close()
	} else {
		u.end()
	}
	if u.unwatch != nil {
		u.unwatch()
	}
	if err == nil {
		return nil
	}
	if ended := u.view.ctx.Err(); ended != nil && ResultCode(err) == lib.SQLITE_INTERRUPT {
		return ended
	}
	return err
}

// Run runs a statement and returns the number of rows that it changed.
func (v View) Run(query string, args ...any) (int64, error) {
	s, err := v.begin(query, args)
	if err != nil {
		return 0, err
	}
	row := true
	for row && err == nil {
		row, err = s.step()
	}
	if err != nil {
		return 0, s.finish(err)
	}
	changed := lib.Xsqlite3_changes64(v.tls, v.db)
	return changed, s.finish(nil)
}

// One scans the first row of the result into dest, and reports whether there is a row.
func (v View) One(query string, args []any, dest ...any) (found bool, err error) {
	err = v.Rows(query, args, func(row func(...any) error) error {
		found = true
		if err := row(dest...); err != nil {
			return err
		}
		return statement.ErrStop
	})
	return found && err == nil, err
}

// Rows calls `scan` for every row of the result. The function `row`, which `scan` gets, reads the
// columns of the row. If `scan` returns an error, Rows stops and returns the error; for
// statement.ErrStop, it returns nil.
func (v View) Rows(query string, args []any, scan func(row func(dest ...any) error) error) error {
	s, err := v.begin(query, args)
	if err != nil {
		return err
	}
	for {
		row, err := s.step()
		if err == nil && row {
			err = scan(s.row)
		}
		switch {
		case errors.Is(err, statement.ErrStop):
			return s.finish(nil)
		case err != nil || !row:
			return s.finish(err)
		}
	}
}

// Exec implements [statement.Conn].
func (v View) Exec(ctx context.Context, query *statement.Statement, args ...any) (int64, error) {
	return View{v.Conn, ctx, v.watched, v.now}.Run(query.Text(), args...)
}

// Write implements [statement.Conn]. It defers the write if the current transaction defers writes.
// Otherwise it executes the write at once.
func (v View) Write(ctx context.Context, query *statement.Statement, args ...any) error {
	if v.Later != nil && v.Later.on {
		v.Later.put(query.Text(), args)
		return nil
	}
	_, err := v.Exec(ctx, query, args...)
	return err
}

// Each implements [statement.Conn].
func (v View) Each(ctx context.Context, query *statement.Statement, args []any, scan func(row func(dest ...any) error) error) error {
	return View{v.Conn, ctx, v.watched, v.now}.Rows(query.Text(), args, scan)
}

// Together implements [statement.Conn]. It runs one function after the other.
func (v View) Together(fs ...func(c statement.Conn) error) error {
	for _, f := range fs {
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// Apart implements [statement.Conn]. It runs one piece after the other.
func (v View) Apart(pieces ...statement.Piece) error { return statement.InTurn(v, pieces) }

// Hold implements [statement.Conn]. It does nothing, because only one transaction decides at a
// time.
func (v View) Hold(context.Context, ...string) error { return nil }

// Share implements [statement.Conn]. It does nothing, because only one transaction decides at a
// time.
func (v View) Share(context.Context, ...string) error { return nil }
