package statement

import (
	"context"
	"errors"
	"strings"
)

// Conn runs statements inside one transaction. Statements are written in SQLite's dialect:
// parameters are ? or ?1, and INDEXED BY names the index that SQLite must use. A store with another
// dialect translates them.
type Conn interface {
	// Exec runs a statement and returns the number of rows that it changed.
	Exec(ctx context.Context, query *Statement, args ...any) (int64, error)
	// Write runs a statement like Exec, for callers that do not need the number of rows. The
	// statement may be deferred until the next call that returns a result, or until the end of the
	// transaction. An error of the statement is then returned by that call or by the commit.
	Write(ctx context.Context, query *Statement, args ...any) error
	// Each calls `scan` for every row of the result. The function `row`, which `scan` gets, reads
	// the columns of the row. The statement may be a query, or an INSERT with RETURNING. If `scan`
	// returns an error, Each stops and returns the error; for ErrStop, it returns nil.
	Each(ctx context.Context, query *Statement, args []any, scan func(row func(dest ...any) error) error) error
	// Together runs functions that do not depend on each other, each with its own Conn, one after
	// the other or concurrently. It returns the first error. The first statements of the functions
	// run in the order of the functions. So if the first statement of one function locks rows, that
	// of the next function sees everything that was committed before these rows were locked.
	Together(fs ...func(c Conn) error) error
	// Apart runs pieces, which are several decisions of one command. Like Together, it may run them
	// concurrently. A piece waits for the locks that another piece has acquired. Pieces with the
	// same name run one after the other, in order. Apart must be the last call of a command.
	Apart(pieces ...Piece) error

	// Hold acquires the locks with these names until the transaction ends, so that no other
	// transaction decides on the data that these locks protect. In a store with one transaction at a
	// time, Hold does nothing. Errors: ErrHeld if another transaction has one of the locks; the
	// command should then be retried.
	Hold(ctx context.Context, names ...string) error
	// Share acquires the locks with these names in shared mode: several transactions can share a
	// lock, but none can acquire it with Hold meanwhile. Otherwise Share is like Hold.
	Share(ctx context.Context, names ...string) error
}

// Piece is one of several decisions that a command makes with Apart.
type Piece struct {
	Name string
	Do   func(c Conn) error
}

// ErrHeld is returned by Conn.Hold and Conn.Share if another transaction has the lock.
var ErrHeld = errors.New("another transaction decides on the same")

// ErrStop ends Conn.Each without an error.
var ErrStop = errors.New("enough rows")

// View is a Conn for one caller, with the caller's context.
type View struct {
	Conn    Conn
	Context context.Context
	Dialect *Dialect
}

// Exec runs a statement and returns the number of rows that it changed.
func (v View) Exec(query *Statement, args ...any) (int64, error) {
	return v.Conn.Exec(v.Context, query, args...)
}

// Write runs a statement, possibly later: see [Conn].
func (v View) Write(query *Statement, args ...any) error {
	return v.Conn.Write(v.Context, query, args...)
}

// Each calls `scan` for each row: see [Conn].
func (v View) Each(query *Statement, args []any, scan func(row func(dest ...any) error) error) error {
	return v.Conn.Each(v.Context, query, args, scan)
}

// One scans the first row of the result into dest, and reports whether there is a row.
func (v View) One(query *Statement, args []any, dest ...any) (found bool, err error) {
	err = v.Each(query, args, func(row func(...any) error) error {
		found = true
		if err := row(dest...); err != nil {
			return err
		}
		return ErrStop
	})
	return found && err == nil, err
}

// Hold acquires exclusive locks with these names: see [Conn].
func (v View) Hold(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return v.Conn.Hold(v.Context, names...)
}

// Share acquires shared locks with these names: see [Conn].
func (v View) Share(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return v.Conn.Share(v.Context, names...)
}

// Together runs functions that do not depend on each other: see [Conn].
func (v View) Together(fs ...func(v View) error) error {
	if len(fs) == 1 {
		return fs[0](v)
	}
	apart := make([]func(Conn) error, len(fs))
	for i, f := range fs {
		apart[i] = func(c Conn) error { return f(View{c, v.Context, v.Dialect}) }
	}
	return v.Conn.Together(apart...)
}

// ForEach calls `read` for each item. The calls are made with Together, so they may run
// concurrently.
func ForEach[T any](v View, items []T, read func(v View, item T) error) error {
	if len(items) == 0 {
		return nil
	}
	fs := make([]func(View) error, len(items))
	for i, item := range items {
		fs[i] = func(v View) error { return read(v, item) }
	}
	return v.Together(fs...)
}

// Indexes returns the numbers 0 to n-1, as items for ForEach.
func Indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Marks returns a list of n placeholders, such as "?,?" for 2.
func Marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// InTurn implements Conn.Apart for a store that makes one decision at a time. It runs the pieces in
// order.
func InTurn(c Conn, pieces []Piece) error {
	for _, p := range pieces {
		if err := p.Do(c); err != nil {
			return err
		}
	}
	return nil
}
