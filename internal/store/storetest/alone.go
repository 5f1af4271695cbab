package storetest

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var aloneTests = map[string]func(*fixture){
	"one that has to be alone is offered by its age, once":   aloneOffered,
	"a worker that holds one alone is offered nothing":       aloneHeld,
	"a decision is told what its worker holds":               aloneHolding,
	"executions that a pick skips leave room for the others": skips,
}

func crashed(n int) func(*perdure.Execution) {
	return func(x *perdure.Execution) { x.Crashes = n }
}

func aloneOffered(f *fixture) {
	aged := func(age time.Duration, crashes int) uuid.UUID {
		return f.start(crashed(crashes), func(x *perdure.Execution) { x.ReadyAt = f.ago(age) })
	}
	known := map[string]uuid.UUID{
		"old": aged(time.Hour, store.AloneScore-1), "young": aged(time.Second, 0), "younger": aged(0, 0),
		"alone": aged(time.Minute, store.AloneScore), "alone too": aged(time.Second, store.AloneScore+5),
	}
	pick := store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}, Limit: 2, Worker: uuid.New()}
	f.equal("the picked", names(known, f.picked(org, pick)), []string{"old", "alone", "young"})
	pick.AloneOnly = true
	f.equal("the picked for one that drains", names(known, f.picked(org, pick)), []string{"alone"})
	f.equal("the picked of another org", names(known, f.picked("other", pick)), nil)
}

func aloneHeld(f *fixture) {
	worker := uuid.New()
	held := f.leased(perdure.StatusRunning, time.Minute, crashed(store.AloneScore), func(x *perdure.Execution) { x.WorkerID = &worker })
	waiting := f.start()
	pick := store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}, Worker: worker}
	f.equal("the picked", f.picked(org, pick), nil)
	pick.Worker = uuid.New()
	f.equal("another worker's", f.picked(org, pick), []uuid.UUID{waiting})
	pick.Worker = worker
	f.change(held, func(s *store.State) *store.Changes {
		s.Execution.Crashes = 0
		return &store.Changes{Execution: s.Execution}
	})
	f.equal("the picked once it is not dangerous any more", f.picked(org, pick), []uuid.UUID{waiting})
}

func aloneHolding(f *fixture) {
	worker := uuid.New()
	holding := func() store.Holding { return f.look(f.start(), store.Needs{Worker: &worker}).Holds }
	f.equal("what an idle worker holds", holding(), store.Holding{})
	x := f.leased(perdure.StatusCancelling, time.Minute, func(x *perdure.Execution) { x.WorkerID = &worker })
	f.equal("what it holds", holding(), store.Holding{Executions: true})
	f.change(x, func(s *store.State) *store.Changes {
		s.Execution.Crashes = store.AloneScore
		return &store.Changes{Execution: s.Execution}
	})
	f.equal("what it holds alone", holding(), store.Holding{Executions: true, Alone: true})

	// If one of the candidates must run alone, the candidates are decided one after the other. Each
	// decision sees the claims of the previous ones.
	other := uuid.New()
	f.start()
	f.start(func(x *perdure.Execution) { x.Crashes = store.AloneScore })
	var seen []store.Holding
	pick := &store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}, Worker: other}
	f.do(store.Command{Org: org, Pick: pick, Decide: func(s *store.State) (*store.Changes, error) {
		seen = append(seen, s.Holds)
		changes, err := claimPending(s)
		s.Execution.WorkerID = &other
		return changes, err
	}})
	if len(seen) < 2 || seen[0].Executions || !seen[1].Executions {
		f.Errorf("the decisions of one pick saw %v", seen)
	}
}

func skips(f *fixture) {
	left := map[uuid.UUID]bool{}
	for range 40 {
		left[f.start(func(x *perdure.Execution) { x.ReadyAt = f.ago(time.Hour) })] = true
	}
	free := f.start()
	ready := f.execution(free).ReadyAt
	pick := store.Pick{
		Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}, Limit: 1,
		Skip: func(id uuid.UUID, since perdure.Time) bool {
			if id == free && since != ready {
				f.Errorf("it is ready since %s, want %s", since, ready)
			}
			return left[id]
		},
	}
	f.equal("the picked", f.picked(org, pick), []uuid.UUID{free})
}
