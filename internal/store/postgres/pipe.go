package postgres

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"iter"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/perdure/perdure/internal/store/relational"
)

// pipe is one transaction in which many commands are decided side by side. Each
// has a strand, which runs until it asks the database for something; what all
// strands ask for goes over together. So the number of round trips is that of
// the strand which asks most often, however many there are. Only one strand runs
// at a time.
type pipe struct {
	ctx     context.Context
	conn    *pgx.Conn
	wait    bool // Hold waits for other transactions
	strands []*strand
	owners  map[string]*strand // of names, in this transaction
	held    map[string]bool    // names whose lock this transaction has, or could not get
	before  []statement        // what has to go first
	wrote   bool
}

// statement is one that nobody waits for.
type statement struct {
	query string
	args  []any
}

// question is what a strand waits for.
type question struct {
	statement
	rows   func(pgx.Rows) error // nil: the number of rows changed is asked for
	number int64
}

// strand is a piece of work in a pipe. It is the Conn of what it runs.
type strand struct {
	*pipe
	parent  *strand
	yield   func(struct{}) bool
	next    func() (struct{}, bool)
	stop    func()
	asks    *question
	blocked string // the name that another strand owns
	waiting int    // strands made by Together
	later   []statement
	owns    []string
	ended   bool
	err     error
}

var _ relational.Conn = (*strand)(nil)

// errGivenUp ends strands whose transaction has failed.
var errGivenUp = errors.New("the transaction has failed elsewhere")

func newPipe(ctx context.Context, conn *pgx.Conn, wait bool) *pipe {
	return &pipe{ctx: ctx, conn: conn, wait: wait, owners: map[string]*strand{}, held: map[string]bool{}}
}

// begin makes a strand; it runs from the next call of run on.
func (p *pipe) begin(parent *strand, f func(c relational.Conn) error) *strand {
	s := &strand{pipe: p, parent: parent}
	seq := func(yield func(struct{}) bool) {
		s.yield = yield
		s.err = f(s)
	}
	s.next, s.stop = iter.Pull(iter.Seq[struct{}](seq))
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
		last.stop()
	}
}

// advance runs every strand until it waits for something that is not there. An
// error of a strand that no other waits for is the transaction's.
func (p *pipe) advance() error {
	for moved := true; moved; {
		moved = false
		for _, s := range slices.Clone(p.strands) {
			if s.asks != nil || s.waiting > 0 || s.ended || s.blocked != "" && p.owners[s.blocked] != nil {
				continue
			}
			moved = true
			if _, more := s.next(); more {
				continue
			}
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
	for _, name := range s.owns {
		delete(p.owners, name)
	}
	if s.parent == nil {
		p.before = append(p.before, s.later...)
		return s.err
	}
	s.parent.later = append(s.parent.later, s.later...)
	s.parent.waiting--
	return nil
}

// ask sends what was put off and what the strands wait for, and hands out the
// answers.
func (p *pipe) ask() error {
	if len(p.strands) == 0 {
		return nil
	}
	var batch pgx.Batch
	p.flush(&batch)
	asked := false
	for _, s := range p.strands {
		q := s.asks
		if q == nil {
			continue
		}
		asked, s.asks = true, nil
		queued := batch.Queue(translate(q.query), q.args...)
		if q.rows != nil {
			queued.Query(q.rows)
		} else {
			queued.Exec(func(tag pgconn.CommandTag) error {
				q.number = tag.RowsAffected()
				return nil
			})
		}
	}
	if !asked {
		return errors.New("the commands of a batch wait for each other")
	}
	return p.conn.SendBatch(p.ctx, &batch).Close()
}

// flush queues what was put off.
func (p *pipe) flush(batch *pgx.Batch) {
	all := p.before
	for _, s := range p.strands {
		all = append(all, s.later...)
		s.later = nil
	}
	for _, st := range all {
		batch.Queue(translate(st.query), st.args...)
	}
	p.before = nil
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
func (s *strand) Each(_ context.Context, query string, args []any, scan func(row func(dest ...any) error) error) error {
	s.wrote = s.wrote || strings.HasPrefix(query, "INSERT")
	s.asks = &question{statement: statement{query, args}, rows: func(rows pgx.Rows) error { return eachRow(rows, scan) }}
	return s.pause()
}

func eachRow(rows pgx.Rows, scan func(row func(dest ...any) error) error) error {
	defer rows.Close()
	row := scanner(rows)
	for rows.Next() {
		if err := scan(row); err != nil {
			if errors.Is(err, relational.ErrStop) {
				return nil
			}
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
	s.waiting = len(fs)
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

// Hold implements [relational.Conn]. Within the transaction a name belongs to
// one command until it has ended, in the order in which they ask.
func (s *strand) Hold(ctx context.Context, names ...string) error {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for _, name := range names {
		if err := s.own(name); err != nil {
			return err
		}
	}
	var ask []func(relational.Conn) error
	for _, name := range names {
		if _, known := s.held[name]; !known {
			ask = append(ask, func(c relational.Conn) error { return lockName(ctx, c, s.wait, s.held, name) })
		}
	}
	if err := s.Together(ask...); err != nil {
		return err
	}
	for _, name := range names {
		if !s.held[name] {
			return relational.ErrHeld
		}
	}
	return nil
}

// own waits until no other command has the name.
func (s *strand) own(name string) error {
	root := s.root()
	for s.owners[name] != nil && s.owners[name] != root {
		s.blocked = name
		if err := s.pause(); err != nil {
			return err
		}
		s.blocked = ""
	}
	if s.owners[name] == nil {
		s.owners[name] = root
		root.owns = append(root.owns, name)
	}
	return nil
}

func (s *strand) root() *strand {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

// lockName takes the lock of a name until the transaction ends, and notes in
// held whether it could.
func lockName(ctx context.Context, c relational.Conn, wait bool, held map[string]bool, name string) error {
	query := tryHold
	if wait {
		query = waitHold
	}
	return c.Each(ctx, query, []any{lockNumber(name)}, func(row func(...any) error) error {
		var got bool
		err := row(&got)
		held[name] = got || wait
		return err
	})
}

// lockNumber is what PostgreSQL knows a name by. Two names of one number do no
// harm: they wait for each other.
func lockNumber(name string) int64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return int64(cmp.Or(h.Sum64(), 1))
}
