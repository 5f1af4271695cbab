package uploads

import (
	"context"
	"sync"

	"github.com/perdure/perdure/internal/fair"
)

// largeTurns limits the checks of large contents: one at a time for each org, and one large content
// in memory for all orgs together. So an org with many contents delays another org by at most one
// check. Waiting checks run in the order in which they arrived.
type largeTurns struct {
	all turn
	mu  sync.Mutex
	of  map[string]*orgTurn
}

// turn is a lock: a goroutine takes the lock by sending to the channel.
type turn chan struct{}

type orgTurn struct {
	turn
	users int // number of holders and waiters
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

// ofAll waits until no other large content is in memory for a check. The caller must call the
// function `done` after the check.
func (l *largeTurns) ofAll(ctx context.Context) (done func(), err error) {
	if err := l.all.take(ctx); err != nil {
		return nil, err
	}
	return func() { <-l.all }, nil
}

// ofOrg waits until no other large content of the org is being checked. The caller must call the
// function `done` after the check.
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
