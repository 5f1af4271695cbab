package postgres

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure/internal/store/relational"
)

// pipe is one transaction in which many commands are decided side by side. Each
// has a strand, which runs until it asks the database for something; what all
// strands ask for goes over together, and the same statement of many of them as
// one. So the number of round trips is that of the strand which asks most often,
// however many there are. Only one strand runs at a time.
type pipe struct {
	ctx     context.Context
	conn    *pgx.Conn
	grouped *grouped
	idle    *coroutines
	wait    bool // Hold waits for other transactions
	strands []*strand
	names   map[string]*ownership // in this transaction
	held    map[lock]bool         // locks that this transaction has, or could not get
	before  []statement           // what has to go first
	ended   []*chain              // what strands that have ended leave to be written
	wrote   bool
}

// statement is one that nobody waits for.
type statement struct {
	query string
	args  []any
}

// scan takes one row, which it reads with the function that it is given.
type scan = func(row func(dest ...any) error) error

// question is what a strand waits for.
type question struct {
	statement
	rows   scan // nil: the number of rows changed is asked for
	number int64
}

// strand is a piece of work in a pipe. It is the Conn of what it runs.
type strand struct {
	*pipe
	*coroutine
	work    func(c relational.Conn) error
	parent  *strand
	asks    *question
	blocked func() bool // what it waits for in this transaction, nil if nothing
	waiting int         // strands made by Together or Apart
	apart   bool        // it decides for itself, though another waits for it
	later   []statement
	chain   chain // of a strand that decides for itself
	owns    []*ownership
	ended   bool
	err     error
}

var _ relational.Conn = (*strand)(nil)

// errGivenUp ends strands whose transaction has failed.
var errGivenUp = errors.New("the transaction has failed elsewhere")

func newPipe(ctx context.Context, conn *pgx.Conn, grouped *grouped, idle *coroutines, wait bool) *pipe {
	return &pipe{ctx: ctx, conn: conn, grouped: grouped, idle: idle, wait: wait, names: map[string]*ownership{}, held: map[lock]bool{}}
}

// begin creates a strand; it runs from the next call of run on.
func (p *pipe) begin(parent *strand, f func(c relational.Conn) error) *strand {
	s := &strand{pipe: p, parent: parent, work: f}
	p.idle.start(s)
	p.strands = append(p.strands, s)
	return s
}

// run works until every strand has ended. An error is the transaction's.
func (p *pipe) run() error {
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

// giveUp ends what has not ended.
func (p *pipe) giveUp() {
	for len(p.strands) > 0 {
		last := p.strands[len(p.strands)-1]
		p.strands = p.strands[:len(p.strands)-1]
		if !last.ended {
			last.stop()
		}
	}
}

// advance runs every strand until it waits for something that is not there. An
// error of a strand that no other waits for is the transaction's.
func (p *pipe) advance() error {
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

func (p *pipe) end(s *strand) error {
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

// ask sends what was put off and what the strands wait for, and hands out the
// answers.
func (p *pipe) ask() error {
	if len(p.strands) == 0 {
		return nil
	}
	var batch pgx.Batch
	if err := p.flush(&batch); err != nil {
		return err
	}
	asked := map[string][]*question{}
	var order []string
	for _, s := range p.strands {
		if q := s.asks; q != nil {
			if asked[q.query] == nil {
				order = append(order, q.query)
			}
			asked[q.query], s.asks = append(asked[q.query], q), nil
		}
	}
	if len(order) == 0 {
		return errors.New("the commands of a batch wait for each other")
	}
	for _, query := range order {
		if err := p.queueAsked(&batch, asked[query]); err != nil {
			return err
		}
	}
	return p.conn.SendBatch(p.ctx, &batch).Close()
}

// flush queues what was put off.
func (p *pipe) flush(batch *pgx.Batch) error {
	for _, st := range p.before {
		batch.Queue(translate(st.query), st.args...)
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
	p.before, p.ended = nil, nil
	return nil
}

// pause lets the others run.
func (s *strand) pause() error {
	if !s.yield(struct{}{}) {
		return errGivenUp
	}
	return nil
}

// Exec implements [relational.Conn].
func (s *strand) Exec(_ context.Context, query string, args ...any) (int64, error) {
	q := &question{statement: statement{query, args}}
	s.asks, s.wrote = q, true
	err := s.pause()
	return q.number, err
}

// Write puts the statement off.
func (s *strand) Write(_ context.Context, query string, args ...any) error {
	s.wrote = true
	s.later = append(s.later, statement{query, args})
	return nil
}

// Each implements [relational.Conn].
func (s *strand) Each(_ context.Context, query string, args []any, scan scan) error {
	s.wrote = s.wrote || strings.HasPrefix(query, "INSERT")
	s.asks = &question{statement: statement{waiting(query, s.wait), args}, rows: scan}
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

// Together implements [relational.Conn]: side by side.
func (s *strand) Together(fs ...func(c relational.Conn) error) error {
	made := make([]*strand, len(fs))
	for i, f := range fs {
		made[i] = s.begin(s, f)
	}
	return s.join(made)
}

// Apart implements [relational.Conn].
func (s *strand) Apart(pieces ...relational.Piece) error {
	s.leaveAll()
	made := make([]*strand, len(pieces))
	for i, p := range pieces {
		made[i] = s.begin(s, func(c relational.Conn) error {
			if err := c.(*strand).own(p.Name, false); err != nil {
				return err
			}
			return p.Do(c)
		})
		made[i].apart = true
	}
	return s.join(made)
}

// join waits for strands.
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
