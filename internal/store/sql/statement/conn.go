package statement

import (
	"context"
	"errors"
	"strings"
)

// Conn runs statements inside one transaction. Statements are written in SQLite's dialect:
// parameters are ? or ?1, and INDEXED BY names the index that SQLite is to use. A store with
// another dialect translates them.
type Conn interface {
	// Exec runs a statement and returns the number of rows that it changed.
	Exec(ctx context.Context, query *Statement, args ...any) (int64, error)
	// Write is Exec for callers that do not need the number of rows. It may be deferred until the
	// next statement that returns a result, or until the transaction's end. Its error is then
	// returned there.
	Write(ctx context.Context, query *Statement, args ...any) error
	// Each reads every row, also the rows of an INSERT with RETURNING. It calls scan for each row
	// with the row's Scan function. It stops when scan returns an error; it returns that error
	// unless it is ErrStop.
	Each(ctx context.Context, query *Statement, args []any, scan func(row func(dest ...any) error) error) error
	// Together runs functions that do not depend on each other, each with its own Conn, one after
	// the other or concurrently. It returns the first error. The first statements of the functions
	// run in the functions' order, as separate statements, so that a statement sees what was
	// committed before the previous one acquired its locks.
	Together(fs ...func(c Conn) error) error
	// Apart is Together for decisions: a lock that one piece holds blocks the others, and pieces of
	// the same name run one after the other, in order. It must be the last call of a command.
	Apart(pieces ...Piece) error

	// Hold acquires named locks, so that no other transaction decides on these names before this
	// one has ended. A store with one transaction at a time does nothing. Errors: ErrHeld if
	// another transaction holds one of the names; the command should be retried.
	Hold(ctx context.Context, names ...string) error
	// Share is Hold with shared locks: several transactions can share a name, but none can Hold it
	// meanwhile.
	Share(ctx context.Context, names ...string) error
}

// Piece is one of several decisions of a command.
type Piece struct {
	Name string
	Do   func(c Conn) error
}

// ErrHeld is returned by Conn.Hold and Conn.Share if another transaction holds the lock.
var ErrHeld = errors.New("another transaction decides on the same")

// ErrStop ends Conn.Each without an error.
var ErrStop = errors.New("enough rows")

// View is a connection for one caller, with the caller's context.
type View struct {
	Conn    Conn
	Context context.Context
	Dialect *Dialect
}

// Exec runs a statement and returns the number of rows that it changed.
func (v View) Exec(query *Statement, args ...any) (int64, error) {
	return v.Conn.Exec(v.Context, query, args...)
}

// Write is Exec for callers that do not need the number of rows.
func (v View) Write(query *Statement, args ...any) error {
	return v.Conn.Write(v.Context, query, args...)
}

// Each calls scan for each row: see [Conn].
func (v View) Each(query *Statement, args []any, scan func(row func(dest ...any) error) error) error {
	return v.Conn.Each(v.Context, query, args, scan)
}

// One scans the first row into dest, and reports whether there is a row.
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

// Hold acquires named locks: see [Conn].
func (v View) Hold(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return v.Conn.Hold(v.Context, names...)
}

// Share acquires named locks in shared mode: see [Conn].
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

// ForEach calls read for each item, using together.
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

// Indexes returns the indexes 0 to n-1, for ForEach.
func Indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// Marks returns a list of n placeholders.
func Marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// InTurn implements Conn.Apart for a store that runs one decision at a time: it runs the pieces in
// order.
func InTurn(c Conn, pieces []Piece) error {
	for _, p := range pieces {
		if err := p.Do(c); err != nil {
			return err
		}
	}
	return nil
}
