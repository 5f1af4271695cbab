package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/perdure/perdure/internal/store/relational"
)

// pool is the connections that read. They are opened read-only, so that none
// of them can write whatever it is asked.
type pool struct {
	free  chan struct{} // a token for each of idle
	mu    sync.Mutex
	idle  []*conn // the one that was used last is last
	conns []*conn
}

func openPool(ctx context.Context, path string, size int) (*pool, error) {
	return openPoolAs(ctx, path, reading, size)
}

func openPoolAs(ctx context.Context, path string, mode access, size int) (*pool, error) {
	p := &pool{free: make(chan struct{}, size)}
	for range size {
		c, err := openConn(ctx, path, mode, "query_only(1)", "cache_size(-2048)")
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.conns = append(p.conns, c)
		p.put(c)
	}
	return p, nil
}

// take gives the free connection that was used last, which has the least to read
// anew; the caller puts it back.
func (p *pool) take(ctx context.Context) (*conn, error) {
	select {
	case _, open := <-p.free:
		if !open {
			return nil, unavailable(nil, "the store is closed")
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		last := len(p.idle) - 1
		c := p.idle[last]
		p.idle = p.idle[:last]
		return c, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pool) put(c *conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.free <- struct{}{}
}

// read runs a read that sees one moment. Whatever fails comes back as a coded
// error, except the context's end.
func (p *pool) read(ctx context.Context, f func(v view) error) error {
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.put(c)
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
		<-p.free
	}
	close(p.free)
	for _, c := range p.conns {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
