package enginetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"pgregory.net/rapid"
)

const (
	org   = "acme"
	lease = 10 * time.Second
	grace = 30 * time.Second
)

// clock is the store's clock; tests advance it.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Random runs random commands of three workers and of clients, with jumps of the clock, on an
// engine and on the reference model. After each command, it compares the stored state with the
// reference model, and checks the invariants.
func Random(t *testing.T, open opentest.Opener) {
	if strings.HasSuffix(t.Name(), "/postgres") {
		longtest.Checks(t, 5, 20) // the rules are the same, and each comparison takes longer
	} else {
		longtest.Checks(t, 20, 100) // a run takes long, because it compares all state after each step
	}
	usually(t, "rapid.steps", "50") // errors need some steps to appear
	rapid.Check(t, func(r *rapid.T) {
		m := newMachine(inRapid{t, r}, open)
		m.start(r)
		r.Repeat(map[string]func(*rapid.T){
			"":        func(*rapid.T) { m.compare() },
			"command": func(r *rapid.T) { one(r, "command", m.possible())(r) },
		})
	})
}

// possible returns the commands that can run now. The list contains a command several times if it
// should run more often.
func (m *machine) possible() []func(*rapid.T) {
	all := []func(*rapid.T){m.pollAgents, m.pollAgents, m.pollAgents, m.pollTasks, m.pollTasks, m.signal, m.signal, m.signal, m.cancel, m.answer, m.answer, m.timePasses, m.timePasses}
	if len(m.xs) < 4 && !slices.ContainsFunc(m.xs, func(x *execution) bool { return x.status == perdure.StatusPending }) {
		all = append(all, m.start)
	}
	if len(m.claims) > 0 {
		all = append(all, m.commit, m.heartbeat, m.release)
	}
	if slices.ContainsFunc(m.xs, func(x *execution) bool { return x.status.Held() }) {
		all = append(all, m.commit, m.commit, m.commit, m.commit, m.commit, m.commit, m.commit, m.commit, m.heartbeat)
	}
	if len(m.commits) > 0 {
		all = append(all, m.commitAgain, m.commitAgain)
	}
	if len(m.attempts) > 0 {
		all = append(all, m.finish, m.finish, m.finish, m.releaseTask)
	}
	if len(m.finishes) > 0 {
		all = append(all, m.finishAgain)
	}
	return all
}

// machine is an engine, together with the reference model with which its state is compared.
type machine struct {
	*rapid.T
	tb    testing.TB
	ctx   context.Context
	e     *engine.Engine
	s     store.Store
	d     perdure.Dispatch
	clock *clock
	xs    []*execution

	workers []uuid.UUID
	// The fields below contain all leases and requests so far. Commands use them to send late
	// requests.
	claims   []perdure.Lease
	attempts []perdure.TaskLease
	commits  []perdure.Commit
	finishes []perdure.TaskFinish
}

func newMachine(t inRapid, open opentest.Opener) *machine {
	m := &machine{T: t.r, tb: t, ctx: t.Context(), clock: newClock(), workers: []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}}
	m.s = open(t, m.clock.Now)
	m.e = newEngine(m.s)
	m.d = m.e.Dispatch(org, false)
	m.must(register(m.ctx, m.d))
	return m
}

func newEngine(s store.Store) *engine.Engine {
	return engine.New(engine.Config{Store: s, Lease: lease, CancelGrace: grace, Tick: time.Hour})
}

func register(ctx context.Context, d perdure.Dispatch) error {
	_, err := d.Register(ctx, perdure.Registration{Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}})
	return err
}

func (m *machine) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// code fails the test unless err has the wanted code. If that is "", err must be nil.
func (m *machine) code(err error, want perdure.Code) {
	m.Helper()
	if got := perdure.CodeOf(err); got != want {
		m.Fatalf("the answer is %v, the rules say %q", err, want)
	}
}

func (m *machine) now() time.Time { return m.clock.Now() }

func (m *machine) of(id uuid.UUID) *execution {
	i := slices.IndexFunc(m.xs, func(x *execution) bool { return x.id == id })
	return m.xs[i]
}

func (m *machine) start(*rapid.T) {
	x, err := m.e.Start(m.ctx, org, engine.StartRequest{Kind: "agent"})
	m.must(err)
	m.xs = append(m.xs, created(x.ID, m.now()))
}

func (m *machine) poll(t *rapid.T, kinds ...string) perdure.Poll {
	return perdure.Poll{
		WorkerID: one(t, "worker", m.workers), Queues: []string{"default"}, Kinds: kinds, Slots: 1 + below(t, "slots", 3), Features: perdure.AllFeatures,
	}
}

// pollAgents polls, and checks that the poll claims the executions that have been pending longest,
// in this order.
func (m *machine) pollAgents(t *rapid.T) {
	p := m.poll(t, "agent")
	p.WorkerID = uuid.New() // a worker that holds nothing yet
	if slices.ContainsFunc(m.xs, (*execution).mustBeAlone) {
		p.Slots = 1
	}
	claims, err := m.d.PollAgents(m.ctx, p)
	m.must(err)
	var ready []*execution
	for _, x := range m.xs {
		if x.claimable(m.now()) {
			ready = append(ready, x)
		}
	}
	slices.SortStableFunc(ready, func(a, b *execution) int { return a.ready.Compare(b.ready) })
	if want := min(len(ready), p.Slots); len(claims) != want {
		m.Fatalf("%d executions were claimed, the rules say %d", len(claims), want)
	}
	for i, c := range claims {
		x := m.of(c.Lease.ExecutionID)
		if !x.claimable(m.now()) || !x.ready.Equal(ready[i].ready) {
			m.Fatalf("claim %d is of an execution that is not next", i)
		}
	}
	for _, c := range claims {
		m.claimed(c)
	}
}

// claimed checks the contents of an execution's claim, and applies the claim to the reference
// model.
func (m *machine) claimed(c perdure.AgentClaim) {
	m.Helper()
	x := m.of(c.Lease.ExecutionID)
	x.claimed(c.Lease, m.now())
	m.claims = append(m.claims, c.Lease)
	if c.Lease.Fence != x.fence || c.LastCommit != x.lastOfClaim() {
		m.Fatalf("the claim has fence %d after commit %v, the rules say %d after %v", c.Lease.Fence, c.LastCommit, x.fence, x.last)
	}
	if got := ids(c.Again); !slices.Equal(got, x.taken) {
		m.Fatalf("the claim gives the signals %v again, the rules say %v", got, x.taken)
	}
	if got := ids(c.Signals); !slices.Equal(got, x.pending) {
		m.Fatalf("the claim brings the signals %v, the rules say %v", got, x.pending)
	}
	if (c.Checkpoint == nil) != (x.checkpoint == 0) || c.Checkpoint != nil && c.Checkpoint.Sequence != x.checkpoint {
		m.Fatalf("the claim brings the checkpoint %+v, the rules say number %d", c.Checkpoint, x.checkpoint)
	}
}

func ids(signals []perdure.Signal) []string {
	var all []string
	for _, s := range signals {
		all = append(all, s.ID)
	}
	return all
}

func (m *machine) pollTasks(t *rapid.T) {
	p := m.poll(t, "work", "play")
	claims, err := m.d.PollTasks(m.ctx, p)
	m.must(err)
	var ready []task
	for _, x := range m.xs {
		for _, one := range x.tasks {
			if one.status == perdure.TaskPending && !one.notBefore.After(m.now()) {
				ready = append(ready, one)
			}
		}
	}
	slices.SortFunc(ready, task.order)
	if want := min(len(ready), p.Slots); len(claims) != want {
		m.Fatalf("%d tasks were claimed, the rules say %d", len(claims), want)
	}
	for i, c := range claims {
		x := m.of(c.Lease.ExecutionID)
		next := x.tasks[c.Lease.TaskID]
		if next.status != perdure.TaskPending || next.notBefore.After(m.now()) || next.order(ready[i]) != 0 {
			m.Fatalf("claim %d is of a task that is not next", i)
		}
		m.attempted(c)
	}
}

// attempted applies the claim of a task to the reference model (see model.go).
func (m *machine) attempted(c perdure.TaskClaim) {
	m.Helper()
	x := m.of(c.Lease.ExecutionID)
	t := x.tasks[c.Lease.TaskID].claimedAs(c.Lease, m.now())
	if t.attempt != c.Lease.Attempt {
		m.Fatalf("the attempt is number %d, the rules say %d", c.Lease.Attempt, t.attempt)
	}
	x.tasks[c.Lease.TaskID] = t
	m.attempts = append(m.attempts, c.Lease)
}
