package sqlite

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

// conn is a connection with its compiled statements. It must be used by one goroutine at a time.
type conn struct {
	*native
	stmts map[string]*stmt
	later *later // nil if writes are never deferred
}

// access says whether a connection may write, as a flag of sqlite3_open_v2.
type access int32

const (
	reading access = lib.SQLITE_OPEN_READONLY
	writing access = lib.SQLITE_OPEN_READWRITE
)

// dsn returns the data source name of the file for database/sql, with the pragmas that every
// connection sets.
func dsn(path string, query url.Values) string {
	for _, pragma := range everywhere {
		query.Add("_pragma", pragma)
	}
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	return "file:" + escaped + "?" + query.Encode()
}

// everywhere lists the pragmas that every connection sets.
var everywhere = []string{"busy_timeout(10000)", "foreign_keys(1)", "temp_store(memory)"}

// openConn opens an existing file.
func openConn(ctx context.Context, path string, mode access, pragmas ...string) (*conn, error) {
	n, err := openNative(path, int32(mode))
	if err != nil {
		return nil, err
	}
	c := &conn{native: n, stmts: map[string]*stmt{}}
	for _, pragma := range append(everywhere[:len(everywhere):len(everywhere)], pragmas...) {
		if err := c.once(ctx, "PRAGMA "+pragma); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// once runs a statement without caching it.
func (c *conn) once(ctx context.Context, query string) error {
	_, err := view{conn: c, ctx: ctx}.exec(query)
	if s := c.stmts[query]; s != nil {
		s.close()
		delete(c.stmts, query)
	}
	return err
}

func (c *conn) close() error {
	c.forget()
	return c.native.close()
}

func (c *conn) forget() {
	for _, s := range c.stmts {
		s.close()
	}
	clear(c.stmts)
}

// prepared returns a compiled statement that is not running. It caches the statement, unless the
// cached one is in use.
func (c *conn) prepared(query string) (*stmt, error) {
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

func (c *conn) compile(query string) (*stmt, error) {
	s, err := c.prepare(query)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", query, err)
	}
	return s, nil
}

// forgetIdle closes all cached statements that are not running.
func (c *conn) forgetIdle() {
	for query, s := range c.stmts {
		if !s.running {
			s.close()
			delete(c.stmts, query)
		}
	}
}

// watch interrupts the connection's statements when ctx ends, until release is called.
func (c *conn) watch(ctx context.Context) (release func()) {
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

// with returns a view of the connection for a caller with this context.
func (c *conn) with(ctx context.Context) view { return view{conn: c, ctx: ctx} }

// snapshot calls f with a consistent snapshot of the file.
func (c *conn) snapshot(ctx context.Context, f func(v view) error) error {
	always := c.with(context.Background())
	if _, err := always.exec("BEGIN"); err != nil {
		return err
	}
	unwatch := c.watch(ctx)
	err := f(view{conn: c, ctx: ctx, watched: true})
	unwatch()
	_, endErr := always.exec("ROLLBACK")
	if err == nil {
		err = endErr
	}
	return err
}

// cost counts how often a statement has run, and how many steps of SQLite's virtual machine it has
// taken.
type cost struct{ Runs, Steps int }

// costs returns the costs of the compiled statements, by their texts.
func (c *conn) costs() map[string]cost {
	all := map[string]cost{}
	for query, s := range c.stmts {
		all[query] = cost{
			Runs:  int(lib.Xsqlite3_stmt_status(c.tls, s.handle, lib.SQLITE_STMTSTATUS_RUN, 0)),
			Steps: int(lib.Xsqlite3_stmt_status(c.tls, s.handle, lib.SQLITE_STMTSTATUS_VM_STEP, 0)),
		}
	}
	return all
}

// view is a connection for one caller, with the caller's context.
type view struct {
	*conn
	ctx context.Context
	// watched reports that the caller already interrupts the connection when the context ends.
	watched bool
	// now reports that the statements are deferred writes, which must not wait for other deferred
	// writes.
	now bool
}

// use is a running statement.
type use struct {
	*stmt
	view    view
	unwatch func() // may be nil
}

// begin starts a statement. The caller must call finish.
func (v view) begin(query string, args []any) (use, error) {
	if err := v.ctx.Err(); err != nil {
		return use{}, err
	}
	if !v.now && v.later != nil && v.later.on {
		if err := v.later.settle(); err != nil {
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

// finish ends the use and returns err, or the context's error if that has interrupted the
// statement.
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
	if ended := u.view.ctx.Err(); ended != nil && resultCode(err) == lib.SQLITE_INTERRUPT {
		return ended
	}
	return err
}

// exec runs a statement and returns the number of rows that it changed.
func (v view) exec(query string, args ...any) (int64, error) {
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

// one scans the first row into dest, and reports whether there is a row.
func (v view) one(query string, args []any, dest ...any) (found bool, err error) {
	err = v.each(query, args, func(row func(...any) error) error {
		found = true
		if err := row(dest...); err != nil {
			return err
		}
		return statement.ErrStop
	})
	return found && err == nil, err
}

// each reads every row. It calls scan for each with the row's Scan function. It stops when scan
// returns an error; it returns that error unless it is statement.ErrStop.
func (v view) each(query string, args []any, scan func(row func(dest ...any) error) error) error {
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
func (v view) Exec(ctx context.Context, query *statement.Statement, args ...any) (int64, error) {
	return view{v.conn, ctx, v.watched, v.now}.exec(query.Text(), args...)
}

// Write implements [statement.Conn]. It defers the write while the current transaction defers
// writes, and otherwise executes it at once.
func (v view) Write(ctx context.Context, query *statement.Statement, args ...any) error {
	if v.later != nil && v.later.on {
		v.later.put(query.Text(), args)
		return nil
	}
	_, err := v.Exec(ctx, query, args...)
	return err
}

// Each implements [statement.Conn].
func (v view) Each(ctx context.Context, query *statement.Statement, args []any, scan func(row func(dest ...any) error) error) error {
	return view{v.conn, ctx, v.watched, v.now}.each(query.Text(), args, scan)
}

// Together implements [statement.Conn]. It runs one function after the other.
func (v view) Together(fs ...func(c statement.Conn) error) error {
	for _, f := range fs {
		if err := f(v); err != nil {
			return err
		}
	}
	return nil
}

// Apart implements [statement.Conn]. It runs one piece after the other.
func (v view) Apart(pieces ...statement.Piece) error { return statement.InTurn(v, pieces) }

// Hold implements [statement.Conn]. It does nothing, because only one transaction decides at a
// time.
func (v view) Hold(context.Context, ...string) error { return nil }

// Share implements [statement.Conn]. It does nothing, because only one transaction decides at a
// time.
func (v view) Share(context.Context, ...string) error { return nil }
