package sqlite

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/turns"
)

// pool holds the connections that read. They are opened read-only, so that no statement can write.
type pool struct {
	turns  *turns.Turns
	closed chan struct{}
	mu     sync.Mutex
	idle   []*conn // the most recently used one is last
	conns  []*conn
}

// poolSize returns the number of reading connections. About three quarters of them are for one org:
// one per core, and at least 4. The others remain for other orgs.
func poolSize() int {
	each := max(4, runtime.GOMAXPROCS(0))
	return each + max(2, each/3)
}

func openPool(ctx context.Context, path string, size int) (*pool, error) {
	return openPoolAs(ctx, path, reading, size)
}

func openPoolAs(ctx context.Context, path string, mode access, size int) (*pool, error) {
	p := &pool{turns: turns.New(size, runtime.GOMAXPROCS(0)/2), closed: make(chan struct{})}
	for range size {
		c, err := openConn(ctx, path, mode, "query_only(1)", "cache_size(-2048)")
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.conns = append(p.conns, c)
		c.givesWay()
		p.idle = append(p.idle, c)
	}
	return p, nil
}

// take returns the most recently used idle connection, which has the most valid pages in its cache.
// The caller must return it with put.
func (p *pool) take(ctx context.Context) (*conn, error) {
	if err := p.turns.Take(ctx, store.OrgOf(ctx)); err != nil {
		return nil, err
	}
	select {
	case <-p.closed:
		p.turns.Leave(store.OrgOf(ctx))
		return nil, unavailable(nil, "the store is closed")
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c, nil
}

func (p *pool) put(ctx context.Context, c *conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.turns.Leave(store.OrgOf(ctx))
}

// read runs a read with a consistent snapshot. It returns all errors as coded errors, except the
// context's error.
func (p *pool) read(ctx context.Context, f func(v view) error) error {
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.put(ctx, c)
	err = c.snapshot(ctx, f)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return refusal(err)
}

// readRows runs a read that only needs a statement.Conn.
func (p *pool) readRows(ctx context.Context, read func(c statement.Conn) error) error {
	return p.read(ctx, func(v view) error { return read(v) })
}

// costs returns the costs of the statements of all connections, by their texts. It waits for running
// reads.
func (p *pool) costs() map[string]cost {
	defer p.takeAll()()
	all := map[string]cost{}
	for _, c := range p.conns {
		for query, more := range c.costs() {
			all[query] = cost{all[query].Runs + more.Runs, all[query].Steps + more.Steps}
		}
	}
	return all
}

// takeAll waits for running reads. Until leave is called, no other read runs.
func (p *pool) takeAll() (leave func()) {
	for range p.conns {
		_ = p.turns.Take(context.Background(), "") // fails only if the context ends
	}
	return func() {
		for range p.conns {
			p.turns.Leave("")
		}
	}
}

// close waits for running reads and closes the connections. Later reads return unavailable.
func (p *pool) close() error {
	var errs []error
	close(p.closed)
	p.takeAll()()
	for _, c := range p.conns {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
