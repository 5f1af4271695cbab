package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

const org = "acme"

// servers opens n stores on one database. The last `plain` of them have Options.Plain set.
func servers(t *testing.T, n, plain int) []*Store {
	t.Helper()
	url := emptyDatabase(t)
	all := make([]*Store, n)
	for i := range all {
		all[i] = open(t, Options{URL: url, Plain: i >= n-plain})
	}
	t.Cleanup(func() { invariants.Check(t, all[0]) })
	return all
}

// eachPair runs a test twice: on two stores with optimizations, and on one store with and one store
// without optimizations (Options.Plain).
func eachPair(t *testing.T, test func(t *testing.T, all []*Store)) {
	for plain, name := range []string{"both with optimizations", "one plain"} {
		t.Run(name, func(t *testing.T) { test(t, servers(t, 2, plain)) })
	}
}

func do(ctx context.Context, s *Store, id uuid.UUID, needs store.Needs, decide func(s *store.State) (*store.Changes, error)) ([]any, error) {
	return s.Do(ctx, store.Command{
		Name: "test", Lane: store.LaneCommits, Org: org, Execution: id,
		Needs: func(*perdure.Execution) store.Needs { return needs }, Decide: decide,
	})
}

// begin inserts a PENDING execution and returns its id.
func begin(t *testing.T, s *Store) uuid.UUID {
	t.Helper()
	id := uuid.New()
	if err := start(t.Context(), s, id); err != nil {
		t.Fatal(err)
	}
	return id
}

// start inserts a PENDING execution.
func start(ctx context.Context, s *Store, id uuid.UUID) error {
	_, err := do(ctx, s, id, store.Needs{}, func(s *store.State) (*store.Changes, error) {
		x := &perdure.Execution{
			ID: id, Org: org, Kind: "agent", Status: perdure.StatusPending, PersistenceMode: perdure.Remote, Queue: "default",
			CreatedAt: s.Now, UpdatedAt: s.Now, ReadyAt: s.Now, Version: 1,
		}
		h := store.Head{LastSeq: 1, LastPos: 1, Epoch: 1}
		return &store.Changes{Execution: x, Head: &h, Records: []perdure.Record{{Pos: 1, Seq: 1, Type: perdure.EventCreated, CreatedAt: s.Now}}}, nil
	})
	return err
}

// note appends an entry and an event and increments the execution's version. If the entry with that
// id exists already, note changes nothing.
func note(ctx context.Context, s *Store, execution, id uuid.UUID) error {
	return noteAfter(ctx, s, execution, id, store.Needs{})
}

// noteAfter does the same as `note`, but its command also has these needs.
func noteAfter(ctx context.Context, s *Store, execution, id uuid.UUID, needs store.Needs) error {
	needs.Entries = []uuid.UUID{id}
	_, err := do(ctx, s, execution, needs, func(s *store.State) (*store.Changes, error) {
		if _, known := s.Entries[id]; known {
			return nil, nil
		}
		x := s.Execution
		e := perdure.Entry{ID: id, ParentID: x.Leaf, Type: perdure.EntryMessage, Role: perdure.RoleUser, Content: []byte(`{"parts":[]}`), CreatedAt: s.Now}
		x.Leaf = &e.ID
		x.Version++
		x.EntryCount++
		s.Head.LastSeq++
		s.Head.LastPos++
		return &store.Changes{
			Execution: x, Head: &s.Head, Entries: []store.Entry{{Entry: e}},
			Records: []perdure.Record{{Pos: s.Head.LastPos, Seq: s.Head.LastSeq, Type: perdure.EventEntry, CreatedAt: s.Now}},
		}, nil
	})
	return err
}

// noted checks how many calls of the function `note` have changed an execution.
func noted(t *testing.T, s *Store, execution uuid.UUID, want int64) {
	t.Helper()
	x, err := s.Execution(t.Context(), org, execution)
	if err != nil {
		t.Fatal(err)
	}
	if x.Version != want+1 || x.EntryCount != want || x.MaxSeq != want+1 {
		t.Errorf("the version is %d with %d entries and seq %d, want %d notes", x.Version, x.EntryCount, x.MaxSeq, want)
	}
}

// TestServersShareOneHistory checks two servers that write to one log. All later reads of one
// server must return what a reader of the other server has seen. No confirmed write may be lost.
func TestServersShareOneHistory(t *testing.T) { eachPair(t, shareOneHistory) }

func shareOneHistory(t *testing.T, all []*Store) {
	id := begin(t, all[0])
	const each = 40
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			for n := range each {
				if err := note(t.Context(), all[(i+n)%2], id, uuid.New()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	last := int64(0)
	for range 50 {
		written, err := all[0].LogHead(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		records, head, err := all[1].Log(t.Context(), id, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if head.LastPos < written.LastPos || head.LastPos < last || int64(len(records)) != head.LastPos {
			t.Errorf("one server is at pos %d, the other gives %d records up to %d", written.LastPos, len(records), head.LastPos)
		}
		last = head.LastPos
	}
	wg.Wait()
	noted(t, all[0], id, 6*each)
	noted(t, all[1], id, 6*each)
}

// TestServersNeverClaimTwice checks concurrent picks on several servers: each execution must be
// claimed once.
func TestServersNeverClaimTwice(t *testing.T) {
	all := servers(t, 3, 1)
	const n = 150
	for range n {
		begin(t, all[0])
	}
	var mu sync.Mutex
	claimed := map[uuid.UUID]int{}
	var wg sync.WaitGroup
	for i := range 12 {
		worker := uuid.New()
		wg.Go(func() {
			for {
				answers, err := all[i%3].Do(t.Context(), store.Command{
					Org: org, Pick: &store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}, Limit: 4, Worker: worker},
					Decide: func(s *store.State) (*store.Changes, error) {
						x := s.Execution
						if x.Status != perdure.StatusPending {
							return nil, nil
						}
						x.Status, x.WorkerID, x.ClaimID, x.LeaseUntil = perdure.StatusRunning, &worker, uuid.New(), s.Now.Add(time.Minute)
						x.Fence++
						return &store.Changes{Execution: x, Answer: x.ID}, nil
					},
				})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, id := range answers {
					claimed[id.(uuid.UUID)]++
				}
				mu.Unlock()
				if len(answers) == 0 {
					return
				}
			}
		})
	}
	wg.Wait()
	if len(claimed) != n {
		t.Errorf("%d of %d were claimed", len(claimed), n)
	}
	for id, times := range claimed {
		x, err := all[0].Execution(t.Context(), org, id)
		if err != nil || times != 1 || x.Fence != 1 {
			t.Errorf("%s was claimed %d times, its fence is %d, %v", id, times, x.Fence, err)
		}
	}
}

// pendingTask adds a pending task with a concurrency key and its limit.
func pendingTask(t *testing.T, s *Store, execution uuid.UUID, key string, limit int) {
	t.Helper()
	_, err := do(t.Context(), s, execution, store.Needs{}, func(s *store.State) (*store.Changes, error) {
		return &store.Changes{Tasks: []*perdure.Task{{
			ID: uuid.New(), ExecutionID: execution, Org: org, Kind: "k", Queue: "q", Status: perdure.TaskPending, CreatedAt: s.Now,
			Options: perdure.TaskOptions{ConcurrencyKey: key, ConcurrencyLimit: limit},
		}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

var claims = store.Pick{Kind: store.PickTasks, Queues: []string{"q"}, Kinds: []string{"k"}, Limit: 2, QueueLimits: map[string]int{"q": 5}}

// claimTasks claims pending tasks whose concurrency key and queue have not reached their limits,
// and returns them.
func claimTasks(t *testing.T, s *Store) (got []*perdure.Task) {
	t.Helper()
	answers, err := s.Do(t.Context(), store.Command{Org: org, Pick: &claims, Decide: func(s *store.State) (*store.Changes, error) {
		task := s.Tasks[*s.PickedTask]
		if s.Keys[task.Options.ConcurrencyKey].Running >= task.Options.ConcurrencyLimit || s.Queues["q"].Running >= 5 {
			return nil, nil
		}
		worker := uuid.New()
		task.Status, task.WorkerID, task.ClaimID, task.LeaseUntil = perdure.TaskRunning, &worker, uuid.New(), s.Now.Add(time.Minute)
		task.Attempt++
		return &store.Changes{Tasks: []*perdure.Task{task}, Answer: task}, nil
	}})
	if err != nil {
		t.Error(err)
	}
	for _, answer := range answers {
		got = append(got, answer.(*perdure.Task))
	}
	return got
}

func endTask(t *testing.T, s *Store, task *perdure.Task) {
	t.Helper()
	_, err := do(t.Context(), s, task.ExecutionID, store.Needs{Tasks: []uuid.UUID{task.ID}}, func(s *store.State) (*store.Changes, error) {
		done := s.Tasks[task.ID]
		done.Status, done.WorkerID, done.ClaimID, done.LeaseUntil, done.CompletedAt = perdure.TaskCompleted, nil, uuid.Nil, perdure.Time{}, &s.Now
		return &store.Changes{Tasks: []*perdure.Task{done}}, nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestServersKeepLimitsTogether checks that two servers together never exceed the limits of
// concurrency keys and queues when they claim tasks. All tasks must be claimed once.
func TestServersKeepLimitsTogether(t *testing.T) { eachPair(t, keepLimitsTogether) }

func keepLimitsTogether(t *testing.T, all []*Store) {
	const keys, tasks = 3, 60
	for i := range tasks {
		pendingTask(t, all[0], begin(t, all[i%2]), fmt.Sprint("key ", i%keys), 2)
	}
	var (
		mu      sync.Mutex
		running = map[string]int{}
		total   int
		ended   = map[uuid.UUID]bool{}
		wg      sync.WaitGroup
	)
	step := func(s *Store) {
		for _, task := range claimTasks(t, s) {
			mu.Lock()
			key := task.Options.ConcurrencyKey
			running[key]++
			total++
			if running[key] > 2 || total > 5 || ended[task.ID] {
				t.Errorf("%d run under %s, %d on the queue", running[key], key, total)
			}
			ended[task.ID] = true
			// The task is counted as ended slightly before it ends. Otherwise a claim between the
			// end of the task and its counting would look like an exceeded limit.
			running[key]--
			total--
			mu.Unlock()
			endTask(t, s, task)
		}
	}
	left := func() bool { mu.Lock(); defer mu.Unlock(); return len(ended) < tasks }
	for i := range 8 {
		wg.Go(func() {
			for left() && !t.Failed() {
				step(all[i%2])
			}
		})
	}
	wg.Wait()
}

// TestServersCreateOnceUnderAKey checks eight concurrent requests with one idempotency key on two
// servers. One must create an execution, and all must return its id.
func TestServersCreateOnceUnderAKey(t *testing.T) { eachPair(t, createOnceUnderAKey) }

func createOnceUnderAKey(t *testing.T, all []*Store) {
	for round := range 10 {
		key := fmt.Sprint("key ", round)
		made := make(chan uuid.UUID, 8)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				id := uuid.New()
				answers, err := do(t.Context(), all[i%2], id, store.Needs{Idempotency: key}, func(s *store.State) (*store.Changes, error) {
					if s.Idempotency != nil {
						return &store.Changes{Answer: s.Idempotency.Execution}, nil
					}
					x := &perdure.Execution{
						ID: id, Org: org, Kind: "agent", Status: perdure.StatusPending, PersistenceMode: perdure.Remote, Queue: "default",
						CreatedAt: s.Now, ReadyAt: s.Now, Version: 1,
					}
					return &store.Changes{Execution: x, Answer: id, Idempotency: &store.Idempotency{Key: key, Execution: id, ExpiresAt: s.Now.Add(time.Hour)}}, nil
				})
				if err != nil {
					t.Error(err)
					return
				}
				made <- answers[0].(uuid.UUID)
			})
		}
		wg.Wait()
		close(made)
		first := <-made
		for id := range made {
			if id != first {
				t.Errorf("one answer is %s, another %s", first, id)
			}
		}
	}
	page, err := all[0].Executions(t.Context(), org, store.ExecutionFilter{Limit: 100})
	if err != nil || len(page.Items) != 10 {
		t.Errorf("%d executions under 10 keys, %v", len(page.Items), err)
	}
}

// TestServersLoseNoChangeOfADefinition checks six concurrent changes of a definition on two servers.
// All of them start from the same version, so exactly one must succeed.
func TestServersLoseNoChangeOfADefinition(t *testing.T) { eachPair(t, loseNoChangeOfADefinition) }

func loseNoChangeOfADefinition(t *testing.T, all []*Store) {
	id := uuid.New()
	change := func(s *Store, from int64) error {
		_, err := do(t.Context(), s, uuid.Nil, store.Needs{Definition: &id}, func(s *store.State) (*store.Changes, error) {
			d := s.Definition
			if d == nil {
				d = &perdure.Definition{ID: id, Org: org, Name: "n", Slug: "s", CreatedAt: s.Now}
			}
			if d.Version != from {
				return nil, errStale
			}
			d.Version++
			return &store.Changes{Definition: d}, nil
		})
		return err
	}
	for version := range int64(20) {
		results := make(chan error, 6)
		for i := range 6 {
			go func() { results <- change(all[i%2], version) }()
		}
		changed := 0
		for range 6 {
			if err := <-results; err == nil {
				changed++
			} else if !errors.Is(err, errStale) {
				t.Error(err)
			}
		}
		if changed != 1 {
			t.Errorf("%d changes of version %d", changed, version)
		}
	}
}

var errStale = errors.New("another version")
