// Package counttest counts what reads of a store cost: statements and rows, which, unlike
// times, are the same on every machine. Its [Run] makes the commits of a worker, for stores
// that count what those cost.
package counttest

import (
	"context"

	"github.com/perdure/perdure/internal/store/relational"
)

// Reads is what was read.
type Reads struct{ Statements, Rows int }

// Of returns a reader that reads as r does, and counts what it reads.
func Of(r relational.Reader) (*relational.Reader, *Reads) {
	reads := &Reads{}
	tx := r.Tx
	r.Tx = func(ctx context.Context, read func(c relational.Conn) error) error {
		return tx(ctx, func(c relational.Conn) error { return read(counted{c, reads}) })
	}
	return &r, reads
}

// counted is a connection that counts.
type counted struct {
	relational.Conn
	reads *Reads
}

// Each counts the statement and its rows.
func (c counted) Each(ctx context.Context, query string, args []any, scan func(row func(dest ...any) error) error) error {
	c.reads.Statements++
	return c.Conn.Each(ctx, query, args, func(row func(dest ...any) error) error {
		c.reads.Rows++
		return scan(row)
	})
}

// Together counts what each function reads.
func (c counted) Together(fs ...func(c relational.Conn) error) error {
	all := make([]func(relational.Conn) error, len(fs))
	for i, f := range fs {
		all[i] = func(conn relational.Conn) error { return f(counted{conn, c.reads}) }
	}
	return c.Conn.Together(all...)
}
