package pipe

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Sequential is a connection that runs one statement after the other. It is used for reads, and for
// batches whose commands run one after the other. Commands do so if their batch is retried with
// savepoints (the retry is "careful"), or if the store has turned off the optimization "groups".
type Sequential struct {
	conn  *pgx.Conn
	wait  bool
	held  map[lock]bool
	first *statement.Statement // sent together with the first other statement; nil once it was sent
	Wrote bool                 // set once a statement has written anything
}

var _ statement.Conn = (*Sequential)(nil)

// NewSequential returns a Sequential. It sends the statement `first` before all other statements.
// If `wait` is set, requests for locks wait for the other transactions that have the locks.
func NewSequential(conn *pgx.Conn, first *statement.Statement, wait bool) *Sequential {
	return &Sequential{conn: conn, first: first, wait: wait}
}

func (p *Sequential) send(ctx context.Context, queue func(b *pgx.Batch)) error {
	var batch pgx.Batch
	if p.first != nil {
		batch.Queue(p.first.Text())
		p.first = nil
	}
	queue(&batch)
	return p.conn.SendBatch(ctx, &batch).Close()
}

// Exec implements [statement.Conn].
func (p *Sequential) Exec(ctx context.Context, query *statement.Statement, args ...any) (n int64, err error) {
	p.Wrote = true
	err = p.send(ctx, func(b *pgx.Batch) {
		b.Queue(Translate(query.Text()), args...).Exec(func(tag pgconn.CommandTag) error {
			n = tag.RowsAffected()
			return nil
		})
	})
	return n, err
}

// Write implements [statement.Conn]. It executes the statement at once.
func (p *Sequential) Write(ctx context.Context, query *statement.Statement, args ...any) error {
	_, err := p.Exec(ctx, query, args...)
	return err
}

// Each implements [statement.Conn].
func (p *Sequential) Each(ctx context.Context, query *statement.Statement, args []any, scan scan) error {
	p.Wrote = p.Wrote || inserts(query)
	return p.send(ctx, func(b *pgx.Batch) {
		b.Queue(Translate(waiting(query, p.wait).Text()), args...).Query(func(rows pgx.Rows) error { return eachRow(rows, scan) })
	})
}

// Together implements [statement.Conn]. It runs one function after the other.
func (p *Sequential) Together(fs ...func(c statement.Conn) error) error {
	for _, f := range fs {
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

// Apart implements [statement.Conn]. It runs one piece after the other.
func (p *Sequential) Apart(pieces ...statement.Piece) error { return statement.InTurn(p, pieces) }

// Hold implements [statement.Conn].
func (p *Sequential) Hold(ctx context.Context, names ...string) error {
	return p.holdAll(ctx, false, names)
}

// Share implements [statement.Conn].
func (p *Sequential) Share(ctx context.Context, names ...string) error {
	return p.holdAll(ctx, true, names)
}

func (p *Sequential) holdAll(ctx context.Context, shared bool, names []string) error {
	if p.held == nil {
		p.held = map[lock]bool{}
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		l := lock{name, shared}
		if _, known := l.in(p.held); !known {
			if err := l.take(ctx, p, p.wait, p.held); err != nil {
				return err
			}
		}
		if got, _ := l.in(p.held); !got {
			return statement.ErrHeld
		}
	}
	return nil
}
