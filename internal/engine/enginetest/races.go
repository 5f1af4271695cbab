package enginetest

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
)

// fixture is an engine on a store, with the interface for its workers.
type fixture struct {
	*testing.T
	e *engine.Engine
	s store.Store
	d perdure.Dispatch
}

func newFixture(t *testing.T, open opentest.Opener) *fixture {
	t.Helper()
	s := open(t, nil)
	e := newEngine(s)
	f := &fixture{t, e, s, e.Dispatch(org, false)}
	f.must(register(t.Context(), f.d))
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) start() uuid.UUID {
	f.Helper()
	x, err := f.e.Start(f.Context(), org, engine.StartRequest{Kind: "agent"})
	f.must(err)
	return x.ID
}

func pollFor(slots int, wait time.Duration) perdure.Poll {
	return perdure.Poll{WorkerID: uuid.New(), Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: slots, Wait: wait}
}

// together runs n functions concurrently and waits for them.
func together(n int, run func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() { <-begin; run(i) })
	}
	close(begin)
	all.Wait()
}

// TenWorkersClaimOneAgent checks that pending executions are claimed exactly once when ten workers
// poll concurrently.
func TenWorkersClaimOneAgent(t *testing.T, open opentest.Opener) {
	f := newFixture(t, open)
	for round := range 20 {
		want := map[uuid.UUID]bool{f.start(): true}
		if round%2 == 1 {
			want[f.start()], want[f.start()] = true, true
		}
		claims := make([][]perdure.AgentClaim, 10)
		together(len(claims), func(i int) {
			var err error
			if claims[i], err = f.d.PollAgents(t.Context(), pollFor(1+round%3, 0)); err != nil {
				t.Error(err)
			}
		})
		got := slices.Concat(claims...)
		for _, c := range got {
			if !want[c.Lease.ExecutionID] || c.Lease.Fence != 1 {
				t.Fatalf("round %d: %+v is claimed a second time", round, c.Lease)
			}
			delete(want, c.Lease.ExecutionID)
		}
		if len(want) > 0 {
			t.Fatalf("round %d: nobody claimed %v", round, want)
		}
	}
}

// TenConsumersFiveSignals checks that ten workers that compete for one execution take each of its
// signals once, in the order sent. A commit after the release of the claim must be refused.
func TenConsumersFiveSignals(t *testing.T, open opentest.Opener) {
	f := newFixture(t, open)
	id := f.start()
	var want []string
	for i := range 5 {
		want = append(want, fmt.Sprint("s", i))
		_, err := f.e.Signal(t.Context(), org, id, engine.SignalRequest{Name: "note", ID: want[i]})
		f.must(err)
	}
	ctx, done := context.WithCancel(t.Context())
	defer done()
	together(10, func(int) {
		for ctx.Err() == nil {
			claims, err := f.d.PollAgents(ctx, pollFor(1, time.Minute))
			if err != nil {
				t.Error(err)
				return
			}
			for _, c := range claims {
				if len(c.Signals) == 0 {
					done()
					continue
				}
				f.takeOne(c)
			}
		}
	})
	x, err := f.s.Execution(t.Context(), org, id)
	f.must(err)
	var got []string
	for e, err := range f.s.Path(t.Context(), id, *x.Leaf, nil, 0, false) {
		f.must(err)
		m, err := e.Message()
		f.must(err)
		got = append(got, m.PlainText())
	}
	if !slices.Equal(got, want) {
		t.Errorf("taken: %v, sent: %v", got, want)
	}
}

// takeOne stores the oldest pending signal as an entry and releases the execution. It checks that
// one more commit is then refused.
func (f *fixture) takeOne(c perdure.AgentClaim) {
	commit := perdure.Commit{Lease: c.Lease, Number: 1, Take: []string{c.Signals[0].ID}, Checkpoint: &perdure.NewCheckpoint{}}
	commit.Entries = []perdure.NewEntry{userEntry(c.Execution.Leaf, c.Signals[0].ID)}
	if _, err := f.d.Commit(f.Context(), commit); err != nil {
		f.Error(err)
	}
	if err := f.d.Release(f.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: c.Lease}}}); err != nil {
		f.Error(err)
	}
	commit.Number, commit.Entries = 2, []perdure.NewEntry{userEntry(&commit.Entries[0].ID, "again")}
	if _, err := f.d.Commit(f.Context(), commit); !perdure.IsCode(err, perdure.LeaseLost) {
		f.Errorf("a worker whose turn is over is answered %v", err)
	}
}

func userEntry(parent *uuid.UUID, text string) perdure.NewEntry {
	e, err := perdure.NewMessageEntry(perdure.UserText(text))
	if err != nil {
		panic(err) // a text always encodes
	}
	e.ParentID = parent
	return perdure.NewEntry{Entry: e}
}

// CancelTaskOfAnotherAgentIsRefused checks that an execution cannot cancel a task of another
// execution, even if it knows the id of the task.
func CancelTaskOfAnotherAgentIsRefused(t *testing.T, open opentest.Opener) {
	f := newFixture(t, open)
	f.start()
	f.start()
	claims, err := f.d.PollAgents(t.Context(), pollFor(2, 0))
	f.must(err)
	mine, other := claims[0].Lease, claims[1].Lease
	key, err := perdure.DefaultTaskKey(other.ExecutionID, "work", json.RawMessage(`1`), "")
	f.must(err)
	_, err = f.d.Commit(t.Context(), perdure.Commit{Lease: other, Number: 1, Tasks: []perdure.NewTask{{
		Kind: "work", Key: key, Input: perdure.Inline([]byte(`1`)), InputHash: sha256.Sum256([]byte(`1`)),
	}}})
	f.must(err)
	_, err = f.d.Commit(t.Context(), perdure.Commit{
		Lease: mine, Number: 1, CancelTask: []uuid.UUID{perdure.TaskID(key)}, Entries: []perdure.NewEntry{userEntry(nil, "hello")},
	})
	if !perdure.IsCode(err, perdure.NotFound) {
		t.Errorf("the cancel is answered %v", err)
	}
	x, err := f.s.Execution(t.Context(), org, mine.ExecutionID)
	f.must(err)
	if x.Leaf != nil || x.LastCommit.Number != 0 {
		t.Error("a part of the refused commit is stored")
	}
	tasks, err := f.d.Tasks(t.Context(), other.ExecutionID, []uuid.UUID{perdure.TaskID(key)})
	f.must(err)
	if tasks[0] == nil || tasks[0].Status != perdure.TaskPending {
		t.Errorf("the other's task is %+v", tasks[0])
	}
}
