// Package pipe sends the statements of a PostgreSQL transaction in which many commands are decided
// concurrently. It needs few round trips: equal statements of several commands become one statement
// for many rows.
package pipe

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store/sql/statement"
)

// Pipe is one transaction in which many commands are decided concurrently. Each command has a
// strand, which runs until it needs an answer of the database. The requests of all strands are sent
// together, and equal statements of several strands are combined into one. So the transaction takes
// as many round trips as the strand with the most requests. Only one strand runs at a time.
type Pipe struct {
	ctx     context.Context
	conn    *pgx.Conn
	grouped *Groups
	idle    *Coroutines
	wait    bool // Hold waits for locks of other transactions
	strands []*strand
	names   map[string]*ownership // ownership of the names that are used in this transaction
	held    map[lock]bool         // reports for each requested lock whether this transaction has it
	first   *statement.Statement  // statement to be sent before all others; nil once it was sent
	ended   []*chain              // unwritten chains of ended strands
	Wrote   bool                  // set once the transaction has written anything
}

// request is a statement with its arguments.
type request struct {
	query *statement.Statement
	args  []any
}

// scan processes one row. Its parameter `row` is a function that reads the columns of that row.
type scan = func(row func(dest ...any) error) error

// pendingQuery is a statement for whose result a strand waits.
type pendingQuery struct {
	request
	rows   scan // called for each row; nil if the query asks for the number of changed rows
	number int64
}

// strand is a piece of work in a pipe, such as one command. It is also the Conn that this work uses.
type strand struct {
	*Pipe
	*coroutine
	work    func(c statement.Conn) error
	parent  *strand
	asks    *pendingQuery
	blocked func() bool // reports whether the strand must wait for another strand; nil if it need not
	waiting int         // number of unended strands that this one started with Together or Apart
	apart   bool        // the strand was started by Apart: it owns names and orders its writes itself
	later   []request
	chain   chain // only used for strands without a parent, and for strands started by Apart
	owns    []*ownership
	ended   bool
	err     error
}

var _ statement.Conn = (*strand)(nil)

// errGivenUp is the error that ends a strand after its transaction has failed.
var errGivenUp = errors.New("the transaction has failed elsewhere")

// New returns a pipe. It sends the statement `first` before all other statements. If `wait` is set,
// requests for locks wait for the other transactions that have the locks.
func New(ctx context.Context, conn *pgx.Conn, first *statement.Statement, grouped *Groups, idle *Coroutines, wait bool) *Pipe {
	return &Pipe{ctx: ctx, conn: conn, first: first, grouped: grouped, idle: idle, wait: wait, names: map[string]*ownership{}, held: map[lock]bool{}}
}

// Do adds a piece of work. The work starts with the next call of Run.
func (p *Pipe) Do(f func(c statement.Conn) error) { p.begin(nil, f) }

// begin creates a strand for the function f. The strand starts when Run advances it.
func (p *Pipe) begin(parent *strand, f func(c statement.Conn) error) *strand {
	s := &strand{Pipe: p, parent: parent, work: f}
	p.idle.start(s)
	p.strands = append(p.strands, s)
	return s
}

// Run advances all strands and sends their requests, until every strand has ended. After an error
// the transaction has failed, and the remaining strands are stopped.
func (p *Pipe) Run() error {
	defer p.giveUp()
	for len(p.strands) > 0 {
		if err := p.advance(); err != nil {
			return err
		}
		if err := p.ask(); err != nil {
			return err
		}
	}
	return nil
}

// giveUp stops the remaining strands: the calls in which they wait return errGivenUp.
func (p *Pipe) giveUp() {
	for len(p.strands) > 0 {
		last := p.strands[len(p.strands)-1]
		p.strands = p.strands[:len(p.strands)-1]
		if !last.ended {
			last.stop()
		}
	}
}

// advance runs every strand until the strand waits: for an answer, for other strands, or for a name
// that another strand owns.
// An error of a strand without a parent fails the transaction.
func (p *Pipe) advance() error {
	for moved := true; moved; {
		moved = false
		for _, s := range slices.Clone(p.strands) {
			if s.asks != nil || s.waiting > 0 || s.ended || s.blocked != nil && s.blocked() {
				continue
			}
			moved = true
			if s.next(); s.runs == s {
				continue
			}
			p.idle.ended(s)
			if err := p.end(s); err != nil {
				return err
			}
		}
		p.strands = slices.DeleteFunc(p.strands, func(s *strand) bool { return s.ended })
	}
	return nil
}

func (p *Pipe) end(s *strand) error {
	s.ended = true
	if s.parent != nil {
		s.parent.waiting--
	}
	if s.root() != s {
		s.parent.later = append(s.parent.later, s.later...)
		return nil
	}
	s.chain.list = append(s.chain.list, s.later...)
	p.ended = append(p.ended, &s.chain)
	s.leaveAll()
	if s.parent != nil {
		return nil
	}
	return s.err
}

// ask sends the deferred writes and the pending queries of all strands, and passes the answers to
// the strands.
func (p *Pipe) ask() error {
	if len(p.strands) == 0 {
		return nil
	}
	var batch pgx.Batch
	if err := p.Flush(&batch); err != nil {
		return err
	}
	asked := map[string][]*pendingQuery{}
	var order []string
	for _, s := range p.strands {
		if q := s.asks; q != nil {
			if asked[q.query.Text()] == nil {
				order = append(order, q.query.Text())
			}
			asked[q.query.Text()], s.asks = append(asked[q.query.Text()], q), nil
		}
	}
	if len(order) == 0 {
		return errors.New("the commands of a batch wait for each other")
	}
	for _, query := range order {
		if err := p.queueQueries(&batch, asked[query]); err != nil {
			return err
		}
	}
	return p.conn.SendBatch(p.ctx, &batch).Close()
}

// Flush adds the deferred writes of all strands to a batch of statements.
func (p *Pipe) Flush(batch *pgx.Batch) error {
	if p.first != nil {
		batch.Queue(Translate(p.first.Text()))
	}
	chains := p.ended
	for _, s := range p.strands {
		root := s.root()
		if s == root {
			chains = append(chains, &root.chain)
		}
		root.chain.list = append(root.chain.list, s.later...)
		s.later = nil
	}
	for _, g := range groupsOf(chains) {
		if err := p.queue(batch, g); err != nil {
			return err
		}
	}
	for _, c := range chains {
		*c = chain{}
	}
	p.first, p.ended = nil, nil
	return nil
}

// pause lets other strands run. If the transaction has failed meanwhile, it returns errGivenUp.
func (s *strand) pause() error {
	if !s.yield(struct{}{}) {
		return errGivenUp
	}
	return nil
}

// Exec implements [statement.Conn].
func (s *strand) Exec(_ context.Context, query *statement.Statement, args ...any) (int64, error) {
	q := &pendingQuery{request: request{query, args}}
	s.asks, s.Wrote = q, true
	err := s.pause()
	return q.number, err
}

// Write implements [statement.Conn]. It defers the statement.
func (s *strand) Write(_ context.Context, query *statement.Statement, args ...any) error {
	s.Wrote = true
	s.later = append(s.later, request{query, args})
	return nil
}

// Each implements [statement.Conn].
func (s *strand) Each(_ context.Context, query *statement.Statement, args []any, scan scan) error {
	s.Wrote = s.Wrote || inserts(query)
	s.asks = &pendingQuery{request: request{waiting(query, s.wait), args}, rows: scan}
	return s.pause()
}

func eachRow(rows pgx.Rows, scan scan) error {
	defer rows.Close()
	row := scanner(rows)
	for rows.Next() {
		if stop, err := stops(scan(row)); stop || err != nil {
			return err
		}
	}
	return rows.Err()
}

// Together implements [statement.Conn]. It runs the functions concurrently.
func (s *strand) Together(fs ...func(c statement.Conn) error) error {
	made := make([]*strand, len(fs))
	for i, f := range fs {
		made[i] = s.begin(s, f)
	}
	return s.join(made)
}

// Apart implements [statement.Conn].
func (s *strand) Apart(pieces ...statement.Piece) error {
	s.leaveAll()
	made := make([]*strand, len(pieces))
	for i, p := range pieces {
		made[i] = s.begin(s, func(c statement.Conn) error {
			if err := c.(*strand).own(p.Name, false); err != nil {
				return err
			}
			return p.Do(c)
		})
		made[i].apart = true
	}
	return s.join(made)
}

// join waits until the strands in `made` have ended.
func (s *strand) join(made []*strand) error {
	s.waiting = len(made)
	if s.waiting > 0 {
		if err := s.pause(); err != nil {
			return err
		}
	}
	for _, child := range made {
		if child.err != nil {
			return child.err
		}
	}
	return nil
}
