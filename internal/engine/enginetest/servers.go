package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
)

// Servers runs several engines on one database, without hints between them. It sends signals to all
// engines. It checks that no two claims of an execution have the same fence, and that the signals
// of each execution are taken once and in order.
func Servers(t *testing.T, stores []store.Store) {
	m := &many{T: t}
	ctx, cancel := context.WithCancel(t.Context())
	var loops, workers sync.WaitGroup
	defer loops.Wait()
	defer cancel()
	for _, s := range stores {
		e := engine.New(engine.Config{Store: s, Lease: lease, CancelGrace: grace})
		m.all = append(m.all, &fixture{t, e, s, e.Dispatch(org, false)})
		loops.Go(func() { _ = e.Run(ctx) })
	}
	m.all[0].must(register(ctx, m.all[0].d))
	const executions, signals = 6, 4
	var ids []uuid.UUID
	for i := range executions {
		ids = append(ids, m.all[i%len(m.all)].start())
	}
	m.left.Store(executions * signals)
	working, done := context.WithCancel(ctx)
	defer done()
	for i := range 6 {
		workers.Go(func() { m.work(working, done, m.all[i%len(m.all)]) })
	}
	for n := range signals {
		for i, id := range ids {
			_, err := m.all[(n+i)%len(m.all)].e.Signal(ctx, org, id, engine.SignalRequest{Name: "note", ID: fmt.Sprint("s", n)})
			m.all[0].must(err)
		}
	}
	workers.Wait()
	for i, id := range ids {
		m.all[i%len(m.all)].tookInOrder(id, signals)
	}
}

// many is a set of servers on one database. It records the claims that its workers have got and the
// signals that they have taken.
type many struct {
	*testing.T
	all           []*fixture
	fences, taken sync.Map
	left          atomic.Int64 // number of signals not taken yet
}

// work claims executions and takes their signals, one at a time. It calls done after the last
// signal, and returns when ctx ends.
func (m *many) work(ctx context.Context, done func(), f *fixture) {
	for ctx.Err() == nil {
		claims, err := f.d.PollAgents(ctx, pollFor(2, time.Minute))
		if err != nil && ctx.Err() == nil {
			m.Error(err)
			return
		}
		for _, c := range claims {
			if _, twice := m.fences.LoadOrStore(fmt.Sprint(c.Lease.ExecutionID, c.Lease.Fence), true); twice {
				m.Errorf("%s is claimed twice with fence %d", c.Lease.ExecutionID, c.Lease.Fence)
			}
			if len(c.Signals) == 0 {
				f.wait(c)
				continue
			}
			f.takeOne(c)
			if _, twice := m.taken.LoadOrStore(fmt.Sprint(c.Lease.ExecutionID, c.Signals[0].ID), true); twice {
				m.Errorf("the signal %s is taken twice", c.Signals[0].ID)
			}
			if m.left.Add(-1) == 0 {
				done()
			}
		}
	}
}

// wait suspends an execution until a signal arrives.
func (f *fixture) wait(c perdure.AgentClaim) {
	_, err := f.d.Commit(f.Context(), perdure.Commit{
		Lease: c.Lease, Number: 1, Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &perdure.Wait{Signal: "note"}},
	})
	if err != nil {
		f.Error(err)
	}
	// If a signal had arrived before the commit, the execution was not suspended. The worker then
	// releases the execution at once.
	if err := f.d.Release(f.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: c.Lease}}}); err != nil {
		f.Error(err)
	}
}

// tookInOrder checks that the conversation has one entry for each signal, in the order sent.
func (f *fixture) tookInOrder(id uuid.UUID, signals int) {
	f.Helper()
	x, err := f.s.Execution(f.Context(), org, id)
	f.must(err)
	if x.Leaf == nil {
		f.Fatalf("%s has no entries", id)
	}
	var got, want []string
	for e, err := range f.s.Path(f.Context(), id, *x.Leaf, nil, 0, false) {
		f.must(err)
		m, err := e.Message()
		f.must(err)
		got = append(got, m.PlainText())
	}
	for n := range signals {
		want = append(want, fmt.Sprint("s", n))
	}
	if !slices.Equal(got, want) {
		f.Errorf("taken: %v, sent: %v", got, want)
	}
}
