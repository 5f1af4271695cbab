package postgres

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// tripCounter counts round trips to the database.
type tripCounter struct{ n atomic.Int64 }

func (c *tripCounter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	c.n.Add(1)
	return ctx
}
func (c *tripCounter) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (c *tripCounter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}
func (c *tripCounter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (c *tripCounter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// together runs calls in one batch of the store's only committer, and returns the number of round
// trips of the batch. An earlier command blocks the committer until all calls are queued.
func together(t *testing.T, s *Store, c *tripCounter, calls []func(ctx context.Context) error) int64 {
	t.Helper()
	entered, leave := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := do(t.Context(), s, uuid.New(), store.Needs{}, func(*store.State) (*store.Changes, error) {
			close(entered)
			<-leave
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-entered
	for _, call := range calls {
		queued := make(chan struct{})
		wg.Go(func() {
			if err := call(queueingContext{t.Context(), sync.OnceFunc(func() { close(queued) })}); err != nil {
				t.Error(err)
			}
		})
		<-queued
	}
	before := c.n.Load()
	close(leave)
	wg.Wait()
	// The round trip that ends the transaction of the blocking command is not counted.
	return c.n.Load() - before - 1
}

func tripsOf(s *Store) *tripCounter {
	var c tripCounter
	s.db.config.Tracer = &c
	return &c
}

// TestRoundTripsDoNotGrow checks that a hundred commands in one batch take as many round trips as
// one command. That must also hold if all commands need the claims of the same worker.
func TestRoundTripsDoNotGrow(t *testing.T) {
	worker := uuid.New()
	for name, needs := range map[string]store.Needs{"notes": {}, "one worker's": {Worker: &worker}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, Options{without: optimizations{texts: true}, Committers: 1})
			c := tripsOf(s)
			var ids []uuid.UUID
			calls := make([]func(context.Context) error, 100)
			for i := range calls {
				id := begin(t, s)
				ids = append(ids, id)
				calls[i] = func(ctx context.Context) error { return noteAfter(ctx, s, id, uuid.New(), needs) }
			}
			together(t, s, c, calls) // this call prepares the statements
			one := together(t, s, c, calls[:1])
			if one < 3 || one > 6 {
				t.Errorf("one command takes %d round trips", one)
			}
			if many := together(t, s, c, calls); many != one {
				t.Errorf("a hundred commands take %d round trips, one takes %d", many, one)
			}
			noted(t, s, ids[0], 3)
			noted(t, s, ids[1], 2)
			invariants.Check(t, s)
		})
	}
}

// TestOneExecutionsCommandsStayInOrder checks that a batch runs the commands of an execution in
// order, even if commands of other executions are between them.
func TestOneExecutionsCommandsStayInOrder(t *testing.T) {
	s := open(t, Options{without: optimizations{texts: true}, Committers: 1})
	c := tripsOf(s)
	ids := []uuid.UUID{begin(t, s), begin(t, s), begin(t, s)}
	var calls []func(context.Context) error
	for n := range 60 {
		calls = append(calls, func(ctx context.Context) error { return note(ctx, s, ids[n%3], uuid.New()) })
	}
	together(t, s, c, calls)
	for _, id := range ids {
		noted(t, s, id, 20)
	}
	invariants.Check(t, s)
}

// TestCommandsBehindAMissedOneStayBehindIt checks that, while a command waits for another server's
// lock on its execution, the next command of that execution waits as well, and a command of another
// execution does not.
func TestCommandsBehindAMissedOneStayBehindIt(t *testing.T) {
	all := servers(t, 2, 0)
	s := open(t, Options{without: optimizations{texts: true}, URL: all[0].db.config.ConnString(), Committers: 1})
	id, other, third := begin(t, s), begin(t, s), begin(t, s)
	key := store.Needs{ConcurrencyKeys: []string{"key"}}
	has, release := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := do(t.Context(), all[1], other, key, func(*store.State) (*store.Changes, error) {
			close(has)
			<-release
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-has
	var mu sync.Mutex
	var order []string
	step := func(name string, execution uuid.UUID, needs store.Needs, then func()) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := do(ctx, s, execution, needs, func(*store.State) (*store.Changes, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
				return nil, nil
			})
			then()
			return err
		}
	}
	nothing := func() {}
	together(t, s, tripsOf(s), []func(context.Context) error{
		step("first", id, key, nothing), step("second", id, store.Needs{}, nothing), step("other", third, store.Needs{}, func() { close(release) }),
	})
	wg.Wait()
	if !slices.Equal(order, []string{"other", "first", "second"}) {
		t.Errorf("the order is %q", order)
	}
}

// TestAValueThatDoesNotFitCostsOthersNothing checks that a command with a value that is too large
// for its parameter fails with invalid_argument, and that the other commands of the batch succeed.
func TestAValueThatDoesNotFitCostsOthersNothing(t *testing.T) {
	s := open(t, Options{without: optimizations{texts: true}, Committers: 1, Logger: quiet})
	id, other := begin(t, s), begin(t, s)
	long := store.Needs{Blocks: []perdure.BlockKey{{Attempt: 1 << 40}}}
	together(t, s, tripsOf(s), []func(context.Context) error{
		func(ctx context.Context) error { return note(ctx, s, other, uuid.New()) },
		func(ctx context.Context) error {
			if err := noteAfter(ctx, s, id, uuid.New(), long); !perdure.IsCode(err, perdure.InvalidArgument) {
				t.Errorf("a value that does not fit gives %v", err)
			}
			return nil
		},
		func(ctx context.Context) error { return note(ctx, s, other, uuid.New()) },
	})
	noted(t, s, id, 0)
	noted(t, s, other, 2)
}

// TestWhatABatchDeletesIsGoneForTheRestOfIt checks that later commands of a batch do not see rows
// that an earlier command of the batch has deleted, although all rows were read before the first
// command.
func TestWhatABatchDeletesIsGoneForTheRestOfIt(t *testing.T) {
	s := open(t, Options{without: optimizations{texts: true}, Committers: 1})
	c := tripsOf(s)
	id, stays := begin(t, s), begin(t, s)
	var seen []bool // what the commands have seen, in order
	look := func(id uuid.UUID, changes func(s *store.State) *store.Changes) func(context.Context) error {
		return func(ctx context.Context) error {
			_, err := do(ctx, s, id, store.Needs{}, func(s *store.State) (*store.Changes, error) {
				seen = append(seen, s.Execution != nil)
				return changes(s), nil
			})
			return err
		}
	}
	nothing := func(*store.State) *store.Changes { return nil }
	prune := func(s *store.State) *store.Changes { return &store.Changes{Prune: &store.Prune{Execution: true}} }
	together(t, s, c, []func(context.Context) error{look(id, nothing), look(id, prune), look(id, nothing)})
	if !slices.Equal(seen, []bool{true, true, false}) {
		t.Errorf("before, at and after its deletion it is there: %v", seen)
	}
	if _, err := s.Execution(t.Context(), org, id); !perdure.IsCode(err, perdure.NotFound) {
		t.Errorf("reading it gives %v", err)
	}
	noted(t, s, stays, 0)
}

// pickAgents claims up to two pending executions for a worker and returns their ids.
func pickAgents(ctx context.Context, s *Store, worker uuid.UUID) (got []uuid.UUID, err error) {
	answers, err := s.Do(ctx, store.Command{
		Org: org, Pick: &store.Pick{Kind: store.PickAgents, Queues: []string{"default"}, Kinds: []string{"agent"}, Limit: 2, Worker: worker},
		Decide: func(s *store.State) (*store.Changes, error) {
			x := s.Execution
			x.Status, x.WorkerID, x.ClaimID, x.LeaseUntil = perdure.StatusRunning, &worker, uuid.New(), s.Now.Add(time.Minute)
			x.Fence++
			return &store.Changes{Execution: x, Answer: x.ID}, nil
		},
	})
	for _, answer := range answers {
		got = append(got, answer.(uuid.UUID))
	}
	return got, err
}

// TestPicksOfManyPollersAreOne checks that the picks of fifty pollers take as many round trips as
// the pick of one, and that no execution is claimed twice. If there are fewer than two executions
// for each poller, each poller must still get at least one.
func TestPicksOfManyPollersAreOne(t *testing.T) {
	s := open(t, Options{without: optimizations{texts: true}, Committers: 1})
	c := tripsOf(s)
	var mu sync.Mutex
	claimed := map[uuid.UUID]bool{}
	var each []int
	poll := func(ctx context.Context) error {
		got, err := pickAgents(ctx, s, uuid.New())
		mu.Lock()
		defer mu.Unlock()
		each = append(each, len(got))
		for _, id := range got {
			if claimed[id] {
				t.Errorf("%s was claimed twice", id)
			}
			claimed[id] = true
		}
		return err
	}
	polls := make([]func(context.Context) error, 50)
	for i := range polls {
		polls[i] = poll
	}
	for range 177 {
		begin(t, s)
	}
	together(t, s, c, polls[:1])
	one := together(t, s, c, polls[:1])
	if one > 7 {
		t.Errorf("one poll takes %d round trips", one)
	}
	many := together(t, s, c, polls)
	if many != one {
		t.Errorf("fifty polls take %d round trips, one takes %d", many, one)
	}
	for _, n := range each {
		if n != 2 {
			t.Errorf("a poll got %d, though there were enough", n)
		}
	}
	each = nil
	together(t, s, c, polls) // 73 executions remain for 50 pollers
	for _, n := range each {
		if n == 0 {
			t.Error("a poll got none, another two")
		}
	}
	if len(claimed) != 177 {
		t.Errorf("%d of 177 were claimed", len(claimed))
	}
	invariants.Check(t, s)
}

// TestHeldCandidatesAreWaitedFor checks that a pick waits if all its candidates are locked by
// another transaction, instead of returning nothing.
func TestHeldCandidatesAreWaitedFor(t *testing.T) {
	for _, plain := range []bool{false, true} {
		heldCandidatesAreWaitedFor(t, open(t, Options{Plain: plain, without: optimizations{texts: true}, Committers: 1, Logger: quiet}))
	}
}

func heldCandidatesAreWaitedFor(t *testing.T, s *Store) {
	id := begin(t, s)
	conn, err := pgx.ConnectConfig(t.Context(), s.db.config.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, query := range []string{"BEGIN", "SELECT 1 FROM agent_execution FOR NO KEY UPDATE"} {
		if _, err := conn.Exec(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	var waits atomic.Bool
	done := make(chan []uuid.UUID)
	go func() {
		got, err := pickAgents(t.Context(), s, uuid.New())
		if err != nil || !waits.Load() {
			t.Errorf("the pick gives %v, %v", got, err)
		}
		done <- got
	}()
	observer := open(t, Options{without: optimizations{texts: true}, URL: s.db.config.ConnString()})
	for blocked := 0; blocked == 0; {
		if err := observer.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted").Scan(&blocked); err != nil {
			t.Fatal(err)
		}
	}
	waits.Store(true)
	if _, err := conn.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	if got := <-done; len(got) != 1 || got[0] != id {
		t.Errorf("the pick gives %v, want %s", got, id)
	}
}
