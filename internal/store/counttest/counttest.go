// Package counttest counts the statements and rows of a store's reads. Unlike times, these counts
// are the same on every machine. A [Run] sends the commits of a worker, so that tests can also count
// the statements of commits.
package counttest

import (
	"context"

	"github.com/perdure/perdure/internal/store/sql/read"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Reads counts the statements of reads and the rows that they have returned.
type Reads struct{ Statements, Rows int }

// Of returns a reader of the same store as r, and the counts of everything that the returned reader
// reads.
func Of(r read.Reader) (*read.Reader, *Reads) {
	reads := &Reads{}
	return r.With(func(ctx context.Context, read func(c statement.Conn) error) error {
		return r.Tx(ctx, func(c statement.Conn) error { return read(counted{c, reads}) })
	}), reads
}

// counted is a connection that counts its reads.
type counted struct {
	statement.Conn
	reads *Reads
}

// Each implements [statement.Conn]. It counts the statement and its rows.
func (c counted) Each(ctx context.Context, query *statement.Statement, args []any, scan func(row func(dest ...any) error) error) error {
	c.reads.Statements++
	return c.Conn.Each(ctx, query, args, func(row func(dest ...any) error) error {
		c.reads.Rows++
		return scan(row)
	})
}

// Together implements [statement.Conn]. It counts the reads of each function.
func (c counted) Together(fs ...func(c statement.Conn) error) error {
	all := make([]func(statement.Conn) error, len(fs))
	for i, f := range fs {
		all[i] = func(conn statement.Conn) error { return f(counted{conn, c.reads}) }
	}
	return c.Conn.Together(all...)
}
