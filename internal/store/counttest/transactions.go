package counttest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// Transactions queues the starts of n executions while the committer is busy. It returns the number
// of transactions in which the store then commits these starts. The function `open` must open a
// store with one committer and the observer o.
func Transactions(t testing.TB, n int, open func(o *store.Observer) store.Store) int {
	t.Helper()
	var transactions atomic.Int64
	s := open(&store.Observer{Batch: func([store.Lanes]int, time.Duration) { transactions.Add(1) }})
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	do := func(ctx context.Context, decide func(s *store.State) *store.Changes) {
		wg.Go(func() {
			_, err := s.Do(ctx, store.Command{Name: "test", Lane: store.LaneCommits, Org: "acme", Decide: func(s *store.State) (*store.Changes, error) {
				return decide(s), nil
			}})
			if err != nil {
				t.Error(err)
			}
		})
	}
	enter := sync.OnceFunc(func() { close(entered) }) // the store may run a decision again
	do(t.Context(), func(*store.State) *store.Changes { enter(); <-leave; return nil })
	<-entered
	for range n {
		queued := make(chan struct{})
		do(queueing{t.Context(), sync.OnceFunc(func() { close(queued) })}, func(s *store.State) *store.Changes {
			return &store.Changes{Execution: &perdure.Execution{
				ID: uuid.New(), Org: "acme", Kind: "agent", Status: perdure.StatusPending, PersistenceMode: perdure.Remote, Queue: "default",
				CreatedAt: s.Now, UpdatedAt: s.Now, ReadyAt: s.Now, Version: 1,
			}}
		})
		<-queued
	}
	before := transactions.Load()
	close(leave)
	wg.Wait()
	return int(transactions.Load()-before) - 1 // the transaction of the blocking command is not counted
}

// queueing is a context whose method Done calls the function `waits`. A store calls Done after it
// has queued the command, so `waits` tells the test that the command is queued.
type queueing struct {
	context.Context
	waits func()
}

// Done implements [context.Context].
func (q queueing) Done() <-chan struct{} {
	q.waits()
	return q.Context.Done()
}
