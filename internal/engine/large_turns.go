package engine

import (
	"context"
	"sync"

	"github.com/perdure/perdure/internal/fair"
)

// largeTurns gives the checks of large contents their turns: one of an org, so that
// an org that sends many keeps the others waiting for one of them at most, and one
// of all in memory. Who waits longest comes first.
type largeTurns struct {
	all turn
	mu  sync.Mutex
	of  map[string]*orgTurn
}

// turn has room for the one whose turn it is.
type turn chan struct{}

type orgTurn struct {
	turn
	users int // that have it or wait for it
}

func newLargeTurns() *largeTurns {
	return &largeTurns{all: make(turn, 1), of: map[string]*orgTurn{}}
}

func (t turn) take(ctx context.Context) error {
	defer fair.Wait(ctx)()
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ofAll takes the turn among all contents that are in memory.
func (l *largeTurns) ofAll(ctx context.Context) (done func(), err error) {
	if err := l.all.take(ctx); err != nil {
		return nil, err
	}
	return func() { <-l.all }, nil
}

// ofOrg takes the org's turn.
func (l *largeTurns) ofOrg(ctx context.Context, org string) (done func(), err error) {
	t := l.enter(org)
	if err := t.take(ctx); err != nil {
		l.leave(org)
		return nil, err
	}
	return func() { <-t.turn; l.leave(org) }, nil
}

func (l *largeTurns) enter(org string) *orgTurn {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.of[org]
	if t == nil {
		t = &orgTurn{turn: make(turn, 1)}
		l.of[org] = t
	}
	t.users++
	return t
}

func (l *largeTurns) leave(org string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of[org].users--; l.of[org].users == 0 {
		delete(l.of, org)
	}
}
