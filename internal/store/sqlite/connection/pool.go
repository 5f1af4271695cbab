package connection

import (
	"context"
	"errors"
	"runtime"
	"sync"

	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sql/statement"
	"github.com/perdure/perdure/internal/store/turns"
)

// Pool contains the connections for reading. They are opened read-only, so that no statement can
// write by mistake.
type Pool struct {
	turns  *turns.Turns
	closed chan struct{}
	mu     sync.Mutex
	idle   []*Conn // the most recently used connection is the last one
	conns  []*Conn
}

// PoolSize returns the number of reading connections. One org may use about three quarters of them:
// as many as there are cores, and at least 4. The others remain for other orgs.
func PoolSize() int {
	each := max(4, runtime.GOMAXPROCS(0))
	return each + max(2, each/3)
}

// OpenPool opens a pool with `size` connections.
func OpenPool(ctx context.Context, path string, size int) (*Pool, error) {
	return openPoolAs(ctx, path, Reading, size)
}

func openPoolAs(ctx context.Context, path string, mode Access, size int) (*Pool, error) {
	p := &Pool{turns: turns.New(size, runtime.GOMAXPROCS(0)/2), closed: make(chan struct{})}
	for range size {
		// The page cache keeps SQLite's default size, 2000 KiB. A pragma for another size would
		// make SQLite read the schema now, although most connections of a small store are never
		// used.
		c, err := Open(ctx, path, mode, "query_only(1)")
		if err != nil {
			return nil, errors.Join(err, p.Close())
		}
		p.conns = append(p.conns, c)
		c.GiveWay()
		p.idle = append(p.idle, c)
	}
	return p, nil
}

// take returns an idle connection, which only the caller may use until it calls put. It chooses the
// most recently used one, whose cache has the most valid pages.
func (p *Pool) take(ctx context.Context) (*Conn, error) {
	if err := p.turns.Take(ctx, store.OrgOf(ctx)); err != nil {
		return nil, err
	}
	select {
	case <-p.closed:
		p.turns.Leave(store.OrgOf(ctx))
		return nil, Unavailable(nil, "the store is closed")
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	c := p.idle[last]
	p.idle = p.idle[:last]
	return c, nil
}

func (p *Pool) put(ctx context.Context, c *Conn) {
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.turns.Leave(store.OrgOf(ctx))
}

// Read calls f with a view that sees a consistent snapshot of the file. Every error that Read
// returns has one of Perdure's codes, except the error of the context.
func (p *Pool) Read(ctx context.Context, f func(v View) error) error {
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.put(ctx, c)
	err = c.Snapshot(ctx, f)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return Refusal(err)
}

// ReadRows is like Read, for a function that only needs a statement.Conn.
func (p *Pool) ReadRows(ctx context.Context, read func(c statement.Conn) error) error {
	return p.Read(ctx, func(v View) error { return read(v) })
}

// Costs returns the costs of the statements of all connections, added up by the text of the
// statement. It waits until running reads have ended.
func (p *Pool) Costs() map[string]Cost {
	defer p.takeAll()()
	all := map[string]Cost{}
	for _, c := range p.conns {
		for query, more := range c.Costs() {
			all[query] = Cost{all[query].Runs + more.Runs, all[query].Steps + more.Steps}
		}
	}
	return all
}

// takeAll takes all connections of the pool, after waiting for running reads. No read runs until
// the caller calls the returned function.
func (p *Pool) takeAll() (leave func()) {
	for range p.conns {
		_ = p.turns.Take(context.Background(), "") // fails only if the context ends
	}
	return func() {
		for range p.conns {
			p.turns.Leave("")
		}
	}
}

// Close waits for running reads and closes the connections. Later reads return unavailable.
func (p *Pool) Close() error {
	var errs []error
	close(p.closed)
	p.takeAll()()
	for _, c := range p.conns {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
