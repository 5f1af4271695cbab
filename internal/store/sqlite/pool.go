package sqlite

import (
	"context"
	"errors"

	"github.com/perdure/perdure/internal/store/relational"
)

// pool is the connections that read. They are opened read-only, so that none
// of them can write whatever it is asked.
type pool struct {
	free  chan *conn
	conns []*conn
}

func openPool(ctx context.Context, path string, size int) (*pool, error) {
	p := &pool{free: make(chan *conn, size)}
	for range size {
		c, err := openConn(ctx, path, reading, "query_only(1)", "cache_size(-2048)")
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.conns = append(p.conns, c)
		p.free <- c
	}
	return p, nil
}

// take gives a free connection; the caller puts it back.
func (p *pool) take(ctx context.Context) (*conn, error) {
	select {
	case c := <-p.free:
		if c == nil {
			return nil, unavailable(nil, "the store is closed")
		}
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// read runs a read that sees one moment. Whatever fails comes back as a coded
// error, except the context's end.
func (p *pool) read(ctx context.Context, f func(v view) error) error {
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer func() { p.free <- c }()
	always := view{conn: c, ctx: context.Background()}
	if _, err := always.exec("BEGIN"); err != nil {
		return refusal(err)
	}
	unwatch := c.watch(ctx)
	err = f(view{conn: c, ctx: ctx, watched: true})
	unwatch()
	_, endErr := always.exec("ROLLBACK")
	switch {
	case err == nil:
		return refusal(endErr)
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return refusal(err)
}

// readRows is read for what reads rows.
func (p *pool) readRows(ctx context.Context, read func(c relational.Conn) error) error {
	return p.read(ctx, func(v view) error { return read(v) })
}

// close waits for the reads under way and closes the connections; a read that
// comes later is unavailable.
func (p *pool) close() error {
	var errs []error
	for range p.conns {
		errs = append(errs, (<-p.free).close())
	}
	close(p.free)
	return errors.Join(errs...)
}
