package storetest

import (
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

var pickTests = map[string]func(*fixture){
	"pending agents are picked, the longest pending first":  picksAgents,
	"pending tasks are picked by priority, then age":        picksTasks,
	"each candidate of a pick is decided and answered":      picksDecide,
	"a candidate whose decision fails leaves the others be": picksFail,
	"the next due moment is found":                          findsNextDue,
	"what needs features is picked for workers with them":   picksByFeatures,
}

// picked runs a command with the Pick p and returns the ids of the rows that it finds, in order.
// The rows are tasks or executions, depending on the kind of p.
func (f *fixture) picked(org string, p store.Pick) []uuid.UUID {
	f.Helper()
	var got []uuid.UUID
	f.do(store.Command{Lane: store.LaneSweeps, Org: org, Pick: &p, Decide: func(s *store.State) (*store.Changes, error) {
		id := s.Execution.ID
		if s.PickedTask != nil {
			id = *s.PickedTask
			if s.Tasks[id] == nil {
				f.Error("the picked task is not among the tasks")
			}
		}
		got = append(got, id)
		return nil, nil
	}})
	return got
}

// names replaces known ids by their names, so that a test's messages are readable.
func names(known map[string]uuid.UUID, got []uuid.UUID) []string {
	var all []string
	for _, id := range got {
		name := id.String()
		for n, k := range known {
			if k == id {
				name = n
			}
		}
		all = append(all, name)
	}
	return all
}

func (f *fixture) ago(d time.Duration) perdure.Time { return f.s.Now().Add(-d) }

func picksAgents(f *fixture) {
	agent := func(org, queue, kind string, status perdure.Status, age, wait time.Duration) uuid.UUID {
		return f.start(func(x *perdure.Execution) {
			x.Org, x.Queue, x.Kind, x.Status, x.ReadyAt = org, queue, kind, status, f.ago(age)
			if wait != 0 {
				x.NotBefore = f.ago(-wait)
			}
			if status == perdure.StatusCompleted {
				x.CompletedAt = ptr(f.s.Now())
			}
		})
	}
	known := map[string]uuid.UUID{
		"young":     agent(org, "q1", "k1", perdure.StatusPending, time.Second, 0),
		"old":       agent(org, "q2", "k2", perdure.StatusPending, time.Hour, 0),
		"middle":    agent(org, "q1", "k2", perdure.StatusPending, time.Minute, 0),
		"put off":   agent(org, "q1", "k1", perdure.StatusPending, 2*time.Hour, time.Hour),
		"due again": agent(org, "q1", "k1", perdure.StatusPending, 2*time.Hour, -time.Second),
		"ended":     agent(org, "q1", "k1", perdure.StatusCompleted, 3*time.Hour, 0),
		"queue":     agent(org, "q3", "k1", perdure.StatusPending, 3*time.Hour, 0),
		"kind":      agent(org, "q1", "k3", perdure.StatusPending, 3*time.Hour, 0),
		"other org": agent("other", "q1", "k1", perdure.StatusPending, 10*time.Hour, 0),
	}
	pick := store.Pick{Kind: store.PickAgents, Queues: []string{"q1", "q2", "q1"}, Kinds: []string{"k1", "k2"}}
	f.equal("the picked", names(known, f.picked(org, pick)), []string{"due again", "old", "middle", "young"})
	f.equal("the picked of every org", names(known, f.picked("", pick)), []string{"other org", "due again", "old", "middle", "young"})
	pick.Limit = 2
	f.equal("the first two", names(known, f.picked(org, pick)), []string{"due again", "old"})
	pick.Kinds = nil
	f.equal("the picked without a kind", names(known, f.picked(org, pick)), nil)
}

func picksTasks(f *fixture) {
	id := f.start()
	other := f.start(func(x *perdure.Execution) { x.Org = "other" })
	task := func(execution uuid.UUID, queue string, status perdure.TaskStatus, priority int, age, wait time.Duration) uuid.UUID {
		t := &perdure.Task{
			ID: uuid.New(), ExecutionID: execution, Org: org, Kind: "k1", Queue: queue, Status: status, CreatedAt: f.ago(age),
			Options: perdure.TaskOptions{Priority: &priority},
		}
		if wait != 0 {
			t.NotBefore = f.ago(-wait)
		}
		if execution == other {
			t.Org = "other"
		}
		if status.Terminal() {
			t.CompletedAt = ptr(f.s.Now())
		}
		f.do(store.Command{Org: t.Org, Execution: execution, Decide: func(*store.State) (*store.Changes, error) {
			return &store.Changes{Tasks: []*perdure.Task{t}}, nil
		}})
		return t.ID
	}
	known := map[string]uuid.UUID{
		"young":     task(id, "q", perdure.TaskPending, 5, time.Second, 0),
		"old":       task(id, "q", perdure.TaskPending, 5, time.Hour, 0),
		"urgent":    task(id, "q", perdure.TaskPending, 0, time.Second, 0),
		"late":      task(id, "q", perdure.TaskPending, 9, 9*time.Hour, 0),
		"backs off": task(id, "q", perdure.TaskPending, 0, time.Hour, time.Minute),
		"ended":     task(id, "q", perdure.TaskCompleted, 0, time.Hour, 0),
		"queue":     task(id, "q2", perdure.TaskPending, 0, time.Hour, 0),
		"other org": task(other, "q", perdure.TaskPending, 0, 9*time.Hour, 0),
	}
	pick := store.Pick{Kind: store.PickTasks, Queues: []string{"q"}, Kinds: []string{"k0", "k1"}}
	f.equal("the picked", names(known, f.picked(org, pick)), []string{"urgent", "old", "young", "late"})
	f.equal("the picked of every org", names(known, f.picked("", pick)), []string{"other org", "urgent", "old", "young", "late"})
	pick.Limit = 2
	f.equal("the first two", names(known, f.picked(org, pick)), []string{"urgent", "old"})
}

func claimPending(s *store.State) (*store.Changes, error) {
	x := s.Execution
	x.Status, x.WorkerID, x.ClaimID, x.LeaseUntil = perdure.StatusRunning, ptr(uuid.New()), uuid.New(), s.Now.Add(time.Minute)
	return &store.Changes{Execution: x, Answer: x.ID}, nil
}

func picksDecide(f *fixture) {
	first, second, third := f.start(), f.start(), f.start()
	pick := func() *store.Pick {
		return &store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}, Limit: 3}
	}
	answers := f.do(store.Command{Org: org, Pick: pick(), Decide: func(s *store.State) (*store.Changes, error) {
		if s.Execution.ID == second {
			return nil, nil
		}
		return claimPending(s)
	}})
	if len(answers) != 2 || !slices.Contains(answers, any(first)) || !slices.Contains(answers, any(third)) {
		f.Errorf("the answers are %v", answers)
	}
	// Ten workers claim one execution at the same time; exactly one of them must succeed.
	var commands []store.Command
	won := make(chan uuid.UUID, 10)
	for range 10 {
		commands = append(commands, store.Command{Org: org, Pick: pick(), Decide: func(s *store.State) (*store.Changes, error) {
			changes, err := claimPending(s)
			won <- s.Execution.ID
			return changes, err
		}})
	}
	for _, err := range f.together(commands) {
		f.must(err)
	}
	if len(won) != 1 || <-won != second {
		f.Errorf("%d claims of one execution were decided", len(won)+1)
	}
}

func picksFail(f *fixture) {
	known := map[string]uuid.UUID{"refused": f.start(), "good": f.start(), "panics": f.start(), "breaks": f.start(), "good too": f.start()}
	answers := f.do(store.Command{
		Org: org, Pick: &store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}},
		Decide: func(s *store.State) (*store.Changes, error) {
			changes, err := claimPending(s)
			switch s.Execution.ID {
			case known["refused"]:
				return changes, errRefused
			case known["panics"]:
				panic("a bug in a rule")
			case known["breaks"]:
				changes.Checkpoint = &perdure.Checkpoint{Sequence: 1, State: []byte(`1`), LeafEntryID: ptr(uuid.New())}
			}
			return changes, err
		},
	})
	if len(answers) != 2 {
		f.Errorf("the answers are %v, want those of the two good ones", answers)
	}
	for name, id := range known {
		want := perdure.StatusPending
		if name == "good" || name == "good too" {
			want = perdure.StatusRunning
		}
		f.equal("the status of "+name, f.execution(id).Status, want)
	}
}

func findsNextDue(f *fixture) {
	due := func() (perdure.Time, bool) {
		d, err := f.s.Due(f.ctx, store.DueQuery{Since: f.s.Now()})
		f.must(err)
		at := d.Ready
		if timer, any := d.At[store.PickTimers]; any {
			at = timer
		}
		return at, !at.IsZero()
	}
	id := f.start()
	if at, ok := due(); ok {
		f.Errorf("something is due at %s", at)
	}
	hour, minute, second := f.ago(-time.Hour), f.ago(-time.Minute), f.ago(-time.Second)
	f.start(func(x *perdure.Execution) { x.NotBefore = hour })
	at, _ := due()
	f.equal("the crash guard's end", at, hour)
	f.putTask(&perdure.Task{ID: uuid.New(), ExecutionID: id, Org: org, Kind: "k", Status: perdure.TaskPending, Queue: "q", CreatedAt: f.s.Now(), NotBefore: minute})
	at, _ = due()
	f.equal("the backoff's end", at, minute)
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Timer: &second} })
	at, _ = due()
	f.equal("the timer", at, second)
	f.change(id, func(*store.State) *store.Changes { return &store.Changes{Timer: &perdure.Time{}} })
	at, _ = due()
	f.equal("what is left", at, minute)
}
