package pipe

import (
	"cmp"
	"context"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/store/sql/statement"
)

// ownership records who owns a name (see [statement.Conn].Hold) within one transaction: one command
// exclusively, or several commands that share it.
type ownership struct {
	owner   *strand
	sharers map[*strand]bool
	alone   []*chain // unwritten chains of commands that owned the name exclusively
	beside  []*chain // unwritten chains of commands that shared the name
}

// free reports whether a command may own the name now, shared or exclusively. The parameter `root`
// is the strand of the command.
func (o *ownership) free(root *strand, shared bool) bool {
	if o.owner != nil {
		return o.owner == root
	}
	return shared || len(o.sharers) == 0 || len(o.sharers) == 1 && o.sharers[root]
}

func (o *ownership) take(root *strand, shared bool) {
	if o.owner == root || shared && o.sharers[root] {
		return
	}
	if !o.sharers[root] {
		root.owns = append(root.owns, o)
	}
	// Before the command's own writes, the writes of earlier exclusive owners of the name must be
	// sent. If the command does not share the name, the writes of earlier sharers must be sent as
	// well.
	root.chain.after = append(root.chain.after, o.alone...)
	if shared {
		o.sharers[root] = true
		return
	}
	root.chain.after = append(root.chain.after, o.beside...)
	o.owner, o.alone, o.beside = root, nil, nil
}

func (o *ownership) leave(root *strand) {
	delete(o.sharers, root)
	if o.owner != root {
		o.beside = append(o.beside, &root.chain)
		return
	}
	o.owner = nil
	o.alone = append(o.alone, &root.chain)
}

// own makes the strand's command an owner of the name. Before, it waits while another command of
// the transaction owns the name, unless both share it.
func (s *strand) own(name string, shared bool) error {
	root, o := s.root(), s.names[name]
	if o == nil {
		o = &ownership{sharers: map[*strand]bool{}}
		s.names[name] = o
	}
	if !o.free(root, shared) {
		s.blocked = func() bool { return !o.free(root, shared) }
		for s.blocked() {
			if err := s.pause(); err != nil {
				return err
			}
		}
		s.blocked = nil
	}
	o.take(root, shared)
	return nil
}

// Own makes the work that uses c an owner of the name. Before, it waits until no other work of the
// pipe owns the name. Unlike Hold, it takes no lock in the database.
func Own(c statement.Conn, name string) error { return c.(*strand).own(name, false) }

func (s *strand) root() *strand {
	for s.parent != nil && !s.apart {
		s = s.parent
	}
	return s
}

// leaveAll ends the strand's ownership of all names, so that other commands of this transaction can
// own these names. The transaction keeps the advisory locks in the database.
func (s *strand) leaveAll() {
	for _, o := range s.owns {
		o.leave(s)
	}
	s.owns = nil
}

// Hold implements [statement.Conn]. Within the transaction, a command owns a name until the command
// ends or calls Apart. If several commands need the same free name, the command whose strand comes
// first in the pipe gets it.
func (s *strand) Hold(ctx context.Context, names ...string) error {
	return s.holdAll(ctx, false, names)
}

// Share implements [statement.Conn].
func (s *strand) Share(ctx context.Context, names ...string) error {
	return s.holdAll(ctx, true, names)
}

func (s *strand) holdAll(ctx context.Context, shared bool, names []string) error {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	for _, name := range names {
		if err := s.own(name, shared); err != nil {
			return err
		}
	}
	var ask []func(statement.Conn) error
	for _, name := range names {
		l := lock{name, shared}
		if _, known := l.in(s.held); !known {
			ask = append(ask, func(c statement.Conn) error { return l.take(ctx, c, s.wait, s.held) })
		}
	}
	var err error
	if len(ask) == 1 {
		err = ask[0](s) // uses the strand itself, because Together would create a new one
	} else {
		err = s.Together(ask...)
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if got, _ := (lock{name, shared}).in(s.held); !got {
			return statement.ErrHeld
		}
	}
	return nil
}

var (
	tryHold   = statement.NewAlone("SELECT pg_try_advisory_xact_lock(?)")
	waitHold  = statement.NewAlone("SELECT pg_advisory_xact_lock(?) IS NULL")
	tryShare  = statement.NewAlone("SELECT pg_try_advisory_xact_lock_shared(?)")
	waitShare = statement.NewAlone("SELECT pg_advisory_xact_lock_shared(?) IS NULL")
)

// skipLocked is the end of a statement that leaves out rows that other transactions have locked.
const skipLocked = " SKIP LOCKED"

// waiting returns the query to run. If `wait` is set, that is the query without SKIP LOCKED, which
// waits for rows that other transactions have locked.
func waiting(query *statement.Statement, wait bool) *statement.Statement {
	waits, skips := strings.CutSuffix(query.Text(), skipLocked)
	if !wait || !skips {
		return query
	}
	return statement.NewAlone(waits)
}

// lock is an advisory lock of PostgreSQL.
type lock struct {
	name   string
	shared bool
}

// in looks up the lock in `held`, which contains the locks that the transaction has requested. The
// exclusive lock of a name also counts as a shared one. The result `got` reports whether the
// transaction has the lock, and `known` whether the transaction has requested the lock.
func (l lock) in(held map[lock]bool) (got, known bool) {
	if got, known = held[l]; l.shared && !got && held[lock{name: l.name}] {
		return true, true
	}
	return got, known
}

// take requests the lock, which the transaction then has until it ends, and stores in `held`
// whether the transaction got the lock.
func (l lock) take(ctx context.Context, c statement.Conn, wait bool, held map[lock]bool) error {
	query := tryHold
	switch {
	case wait && l.shared:
		query = waitShare
	case wait:
		query = waitHold
	case l.shared:
		query = tryShare
	}
	return c.Each(ctx, query, []any{l.number()}, func(row func(...any) error) error {
		var got bool
		err := row(&got)
		held[l] = got || wait
		return err
	})
}

// number returns the number of the lock in PostgreSQL. If two names have the same number, commands
// may wait for each other without need.
func (l lock) number() int64 {
	h := fnv.New64a()
	h.Write([]byte(l.name)) // never fails
	return int64(cmp.Or(h.Sum64(), 1))
}
