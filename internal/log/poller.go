package log

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// poller is the only goroutine of a Log; it runs while the Log has followers. Once a second it
// repeats the read of each log whose last read failed. If hints can be lost, it also reads the
// heads of all followed logs with one query.
type poller struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// startPoller starts the poller for the first follower. The caller must hold l.mu.
func (l *Log) startPoller() {
	ctx, cancel := context.WithCancel(context.Background())
	l.rounds = &poller{cancel: cancel, done: make(chan struct{})}
	go func(r *poller) {
		defer close(r.done)
		timer := time.NewTicker(tick)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
				l.round(ctx)
			}
		}
	}(l.rounds)
}

// stopRounds stops the poller after the last follower has left. The caller must hold l.mu, and
// release it before it calls the returned function, which waits for the end of the poller's
// goroutine.
func (l *Log) stopRounds() (wait func()) {
	r := l.rounds
	l.rounds = nil
	r.cancel()
	return func() { <-r.done }
}

// round checks every follower once.
func (l *Log) round(ctx context.Context) {
	var all []*follower
	l.mu.Lock()
	for _, f := range l.followers {
		all = append(all, f)
	}
	l.mu.Unlock()
	if notify.Sure(l.hints) {
		for _, f := range all {
			if f.behind(nil) {
				l.advance(f)
			}
		}
		return
	}
	ids := make([]uuid.UUID, len(all))
	for i, f := range all {
		ids[i] = f.execution
	}
	heads, err := l.read.LogHeads(ctx, ids)
	if ctx.Err() != nil {
		return
	}
	for _, f := range all {
		if err != nil {
			f.take(nil, store.Head{}, err)
		} else if head := heads[f.execution]; f.behind(&head) {
			l.advance(f)
		}
	}
}

// behind reports whether the follower must read the store: its last read failed, or `head`, the
// log's head in the store, has changed.
func (f *follower) behind(head *store.Head) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed > 0 || !f.ready {
		return true
	}
	return head != nil && (head.LastPos != f.head.LastPos || f.isAnother(*head))
}
