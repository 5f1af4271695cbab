package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/internal/store/sqlite"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

func TestMain(m *testing.M) { os.Exit(opentest.Main(m)) }

const org = "acme"

// clock is the store's clock; tests advance it.
type clock struct {
	mu  sync.Mutex // guards now
	now time.Time
}

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

// bench is an engine on its own store, with a clock that tests advance. After each test it checks
// the store's invariants.
type bench struct {
	*testing.T
	e      *Engine
	s      *sqlite.Store
	d      perdure.Dispatch
	clock  *clock
	path   string
	worker uuid.UUID
}

const testLease = 10 * time.Second

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{
		T: t, clock: &clock{now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)},
		path: filepath.Join(t.TempDir(), "perdure.db"), worker: uuid.New(),
	}
	b.open()
	t.Cleanup(func() {
		invariants.Check(t, b.s)
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
	})
	b.register()
	return b
}

func (b *bench) open() {
	b.Helper()
	opentest.Place(b, b.path)
	var err error
	if b.s, err = sqlite.Open(context.WithoutCancel(b.Context()), sqlite.Options{Path: b.path, Clock: b.clock.Now}); err != nil {
		b.Fatal(err)
	}
	b.use(b.s)
}

// use replaces the bench's engine with a new one on the store s, with a changed configuration.
func (b *bench) use(s store.Store, changes ...func(*Config)) {
	c := Config{Store: s, Lease: testLease, PayloadLimit: 1 << 20, Tick: time.Hour}
	for _, change := range changes {
		change(&c)
	}
	b.e = New(c)
	b.d = b.e.Dispatch(org, false)
}

func (b *bench) register() {
	b.Helper()
	_, err := b.d.Register(b.Context(), perdure.Registration{
		WorkerID: b.worker, Queues: []string{"default"},
		Agents: []perdure.KindSpec{
			{Kind: "agent"},
			{Kind: perdure.ReactKind, Providers: []string{"anthropic", "scripted"}},
			{Kind: "strict", InputSchema: json.RawMessage(`{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)},
		},
		Tasks: []perdure.KindSpec{{Kind: "work"}},
	})
	b.must(err)
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) wantCode(err error, code perdure.Code) {
	b.Helper()
	if perdure.CodeOf(err) != code {
		b.Fatalf("the error is %v, want code %q", err, code)
	}
}

func (b *bench) wantStatus(id uuid.UUID, want perdure.Status) *perdure.Execution {
	b.Helper()
	x := b.execution(id)
	if x.Status != want {
		b.Fatalf("the execution is %s, want %s; its log: %v", x.Status, want, b.events(id))
	}
	return x
}

// start creates an execution.
func (b *bench) start() uuid.UUID {
	b.Helper()
	x, err := b.e.Start(b.Context(), org, StartRequest{Kind: "agent", Input: json.RawMessage(`{"a":1}`)})
	b.must(err)
	return x.ID
}

func (b *bench) execution(id uuid.UUID) *perdure.Execution {
	b.Helper()
	x, err := b.s.Execution(b.Context(), org, id)
	b.must(err)
	return x
}

func (b *bench) poll(slots int) perdure.Poll {
	return perdure.Poll{WorkerID: b.worker, Queues: []string{"default"}, Kinds: []string{"agent", "work"}, Slots: slots}
}

// claims claims the executions that are pending now.
func (b *bench) claims() []perdure.AgentClaim {
	b.Helper()
	claims, err := b.d.PollAgents(b.Context(), b.poll(8))
	b.must(err)
	return claims
}

// claim claims the pending execution. It fails the test unless exactly one is pending.
func (b *bench) claim() *holder {
	b.Helper()
	claims := b.claims()
	if len(claims) != 1 {
		b.Fatalf("%d executions were claimed, want 1", len(claims))
	}
	return &holder{bench: b, claim: claims[0], id: claims[0].Lease.ExecutionID}
}

// started creates an execution and claims it.
func (b *bench) started() *holder {
	b.Helper()
	b.start()
	return b.claim()
}

// taskClaims claims the tasks that are pending now.
func (b *bench) taskClaims() []perdure.TaskClaim {
	b.Helper()
	claims, err := b.d.PollTasks(b.Context(), b.poll(8))
	b.must(err)
	return claims
}

func (b *bench) taskClaim() perdure.TaskClaim {
	b.Helper()
	claims := b.taskClaims()
	if len(claims) != 1 {
		b.Fatalf("%d tasks were claimed, want 1", len(claims))
	}
	return claims[0]
}

func (b *bench) task(execution, id uuid.UUID) *perdure.Task {
	b.Helper()
	tasks, err := b.s.Tasks(b.Context(), execution, []uuid.UUID{id}, false)
	b.must(err)
	if tasks[0] == nil {
		b.Fatalf("there is no task %s", id)
	}
	return tasks[0]
}

func (b *bench) signal(id uuid.UUID, name, signal string) {
	b.Helper()
	_, err := b.e.Signal(b.Context(), org, id, SignalRequest{Name: name, ID: signal, Value: json.RawMessage(`{"text":"` + signal + `"}`)})
	b.must(err)
}

// sweep runs one round of the engine's sweeps.
func (b *bench) sweep() {
	b.Helper()
	b.must(b.e.Sweep(b.Context()))
}

// events returns the types of the records in the execution's log, in order.
func (b *bench) events(id uuid.UUID) []perdure.EventType {
	b.Helper()
	var types []perdure.EventType
	for _, r := range b.log(id) {
		types = append(types, r.Type)
	}
	return types
}

func (b *bench) log(id uuid.UUID) []perdure.Record {
	b.Helper()
	records, _, err := b.s.Log(b.Context(), id, 0, 1000)
	b.must(err)
	return records
}

func (b *bench) count(id uuid.UUID, what perdure.EventType) int {
	b.Helper()
	n := 0
	for _, t := range b.events(id) {
		if t == what {
			n++
		}
	}
	return n
}

func (b *bench) pathOf(leaf *uuid.UUID, execution uuid.UUID) []perdure.Entry {
	b.Helper()
	var entries []perdure.Entry
	if leaf == nil {
		return nil
	}
	for e, err := range b.s.Path(b.Context(), execution, *leaf, nil, 0, false) {
		b.must(err)
		entries = append(entries, e)
	}
	return entries
}

// snapshot returns all stored data of an execution as text, for comparisons.
func (b *bench) snapshot(id uuid.UUID) string {
	b.Helper()
	entries, err := b.s.AllEntries(b.Context(), id, "", 1000)
	b.must(err)
	tasks, err := b.s.ListTasks(b.Context(), id, true, "", 1000)
	b.must(err)
	checkpoints, err := b.s.Checkpoints(b.Context(), id, "", 1000)
	b.must(err)
	pending, err := b.s.PendingSignals(b.Context(), id, nil, 0, 1000)
	b.must(err)
	taken, err := b.s.TakenSignals(b.Context(), id)
	b.must(err)
	head, err := b.s.LogHead(b.Context(), id)
	b.must(err)
	raw, err := json.Marshal([]any{b.execution(id), entries, tasks, checkpoints, pending, taken, head, b.log(id)})
	b.must(err)
	return string(raw)
}
