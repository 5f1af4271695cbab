package relational

import (
	"context"
	"errors"
	"strings"
)

// Conn runs statements inside one transaction. Statements are in SQLite's words:
// parameters are ? or ?1, and INDEXED BY names the index that SQLite is to use.
// A store with other words translates them.
type Conn interface {
	// Exec runs a statement and returns the number of rows that it changed.
	Exec(ctx context.Context, query string, args ...any) (int64, error)
	// Write is Exec where nobody needs the number. It may be put off until the
	// next statement that answers, or the transaction's end; its error then comes
	// up there.
	Write(ctx context.Context, query string, args ...any) error
	// Each reads every row, also those of an INSERT that returns some; scan is called for each with the row's Scan. It stops
	// where scan tells it to, by an error or by ErrStop.
	Each(ctx context.Context, query string, args []any, scan func(row func(dest ...any) error) error) error
	// Together runs functions that do not depend on each other, each with a Conn
	// of its own, one after the other or side by side. It returns the first error.
	// What each asks for first is answered in their order, by a statement of its own
	// each, so that one sees what is committed once the one before has locked.
	Together(fs ...func(c Conn) error) error
	// Apart is Together for decisions: what one of them holds, the others wait for,
	// and pieces of the same name are done one after the other, in their order. It
	// is the last thing that a command does.
	Apart(pieces ...Piece) error

	// Hold sees to it that no other transaction decides on what is named before
	// this one has ended. A store with one transaction at a time has nothing to
	// do. ErrHeld says that another transaction holds one of them, and that the
	// command should be tried again.
	Hold(ctx context.Context, names ...string) error
	// Share is Hold beside others that share the same names, and against those
	// that Hold them.
	Share(ctx context.Context, names ...string) error
}

// Piece is one of many decisions of a command.
type Piece struct {
	Name string
	Do   func(c Conn) error
}

// ErrHeld is given by Conn.Hold.
var ErrHeld = errors.New("another transaction decides on the same")

// ErrStop ends Conn.Each without an error.
var ErrStop = errors.New("enough rows")

// view is a connection in use for one purpose, under its caller's context.
type view struct {
	Conn
	ctx   context.Context
	words *Words
}

func (v view) exec(query string, args ...any) (int64, error) { return v.Exec(v.ctx, query, args...) }

func (v view) write(query string, args ...any) error { return v.Write(v.ctx, query, args...) }

func (v view) each(query string, args []any, scan func(row func(dest ...any) error) error) error {
	return v.Each(v.ctx, query, args, scan)
}

// one reads the first row into dest and reports whether there is one.
func (v view) one(query string, args []any, dest ...any) (found bool, err error) {
	err = v.each(query, args, func(row func(...any) error) error {
		found = true
		if err := row(dest...); err != nil {
			return err
		}
		return ErrStop
	})
	return found && err == nil, err
}

func (v view) hold(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return v.Hold(v.ctx, names...)
}

func (v view) share(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	return v.Share(v.ctx, names...)
}

func (v view) together(fs ...func(v view) error) error {
	if len(fs) == 1 {
		return fs[0](v)
	}
	apart := make([]func(Conn) error, len(fs))
	for i, f := range fs {
		apart[i] = func(c Conn) error { return f(view{c, v.ctx, v.words}) }
	}
	return v.Together(apart...)
}

// forEach reads for each item, together.
func forEach[T any](v view, items []T, read func(v view, item T) error) error {
	if len(items) == 0 {
		return nil
	}
	fs := make([]func(view) error, len(items))
	for i, item := range items {
		fs[i] = func(v view) error { return read(v, item) }
	}
	return v.together(fs...)
}

// indexes are those of a list of n, for forEach.
func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// marks returns n placeholders for a list.
func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// InTurn is Apart where one thing is done after the other anyway.
func InTurn(c Conn, pieces []Piece) error {
	for _, p := range pieces {
		if err := p.Do(c); err != nil {
			return err
		}
	}
	return nil
}
