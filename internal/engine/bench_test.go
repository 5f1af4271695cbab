package engine

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite"
	"github.com/perdure/perdure/internal/store/storetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const org = "acme"

// clock is the store's time, moved by hand.
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

// bench is an engine on a store of its own whose time stands still. After each
// test the store's invariants are checked.
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
		storetest.Invariants(t, b.s)
		if err := b.s.Close(); err != nil {
			t.Error(err)
		}
	})
	b.register()
	return b
}

func (b *bench) open() {
	b.Helper()
	var err error
	if b.s, err = sqlite.Open(context.WithoutCancel(b.Context()), sqlite.Options{Path: b.path, Clock: b.clock.Now}); err != nil {
		b.Fatal(err)
	}
	b.use(b.s)
}

func (b *bench) use(s store.Store) {
	b.e = New(Config{Store: s, Lease: testLease, PayloadLimit: 1 << 20, Tick: time.Hour})
	b.d = b.e.Dispatch(org, false)
}

func (b *bench) register() {
	b.Helper()
	_, err := b.d.Register(b.Context(), perdure.Registration{
		WorkerID: b.worker, Queues: []string{"default"},
		Agents: []perdure.KindSpec{
			{Kind: "agent"}, {Kind: perdure.ReactKind, Providers: []string{"anthropic", "scripted"}},
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

// start makes an execution.
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

// claims claims what is pending now.
func (b *bench) claims() []perdure.AgentClaim {
	b.Helper()
	claims, err := b.d.PollAgents(b.Context(), b.poll(8))
	b.must(err)
	return claims
}

// claim claims the one execution that is pending.
func (b *bench) claim() *holder {
	b.Helper()
	claims := b.claims()
	if len(claims) != 1 {
		b.Fatalf("%d executions were claimed, want 1", len(claims))
	}
	return &holder{bench: b, claim: claims[0], id: claims[0].Lease.ExecutionID}
}

// started makes an execution and claims it.
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

// sweep does what the engine's loop does in one round.
func (b *bench) sweep() {
	b.Helper()
	b.must(b.e.round(b.Context(), true))
}

// events gives the types of the execution's records.
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

// holder is a worker's side of one claim.
type holder struct {
	*bench
	claim  perdure.AgentClaim
	id     uuid.UUID
	number int64
}

// try sends the next commit, filled in by edit.
func (h *holder) try(edit func(c *perdure.Commit)) (perdure.CommitReply, error) {
	h.Helper()
	c := perdure.Commit{Lease: h.claim.Lease, Number: h.number + 1}
	edit(&c)
	reply, err := h.d.Commit(h.Context(), c)
	if err == nil {
		h.number = c.Number
	}
	return reply, err
}

func (h *holder) commit(edit func(c *perdure.Commit)) perdure.CommitReply {
	h.Helper()
	reply, err := h.try(edit)
	h.must(err)
	return reply
}

// suspend suspends, and fails the test if the wait is met already.
func (h *holder) suspend(w perdure.Wait) {
	h.Helper()
	if reply := h.commit(suspending(w)); !reply.Suspended {
		h.Fatalf("the execution goes on, want it suspended: %+v", reply)
	}
}

func suspending(w perdure.Wait) func(*perdure.Commit) {
	return func(c *perdure.Commit) { c.Outcome = perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &w} }
}

func completing(unless ...string) func(*perdure.Commit) {
	return func(c *perdure.Commit) {
		c.Outcome = perdure.Outcome{Kind: perdure.OutcomeComplete, Output: perdure.Inline([]byte(`"done"`)), Unless: unless}
	}
}

// newTask is a task of the claim's execution, told apart by its input.
func (h *holder) newTask(input string, edit ...func(*perdure.TaskOptions)) perdure.NewTask {
	h.Helper()
	t := perdure.NewTask{Kind: "work", Input: perdure.Inline([]byte(input)), InputHash: sha256.Sum256([]byte(input))}
	for _, change := range edit {
		change(&t.Options)
	}
	var err error
	if t.Options.Key != "" {
		t.Key = perdure.CallerTaskKey(h.id, t.Kind, t.Options.Key)
	} else if t.Key, err = perdure.DefaultTaskKey(h.id, t.Kind, json.RawMessage(input), t.Options.Instance); err != nil {
		h.Fatal(err)
	}
	return t
}

// schedule schedules tasks, one for each input, and gives their ids.
func (h *holder) schedule(inputs ...string) []uuid.UUID {
	h.Helper()
	var ids []uuid.UUID
	h.commit(func(c *perdure.Commit) {
		for _, input := range inputs {
			t := h.newTask(input)
			c.Tasks, ids = append(c.Tasks, t), append(ids, perdure.TaskID(t.Key))
		}
	})
	return ids
}

func done(c perdure.TaskClaim, result string) perdure.TaskFinish {
	return perdure.TaskFinish{Lease: c.Lease, Result: perdure.Inline([]byte(result))}
}

func failed(c perdure.TaskClaim, permanent bool) perdure.TaskFinish {
	return perdure.TaskFinish{Lease: c.Lease, Error: &perdure.TaskError{Code: "task_failed", Message: "no luck", Permanent: permanent}}
}

func (b *bench) finish(f perdure.TaskFinish) perdure.FinishReply {
	b.Helper()
	f.WorkerID = b.worker
	reply, err := b.d.FinishTask(b.Context(), f)
	b.must(err)
	return reply
}

// snapshot is all that is stored of an execution, to compare.
func (b *bench) snapshot(id uuid.UUID) string {
	b.Helper()
	entries, err := b.s.AllEntries(b.Context(), id, "", 1000)
	b.must(err)
	tasks, err := b.s.ListTasks(b.Context(), id, true, "", 1000)
	b.must(err)
	checkpoints, err := b.s.Checkpoints(b.Context(), id, "", 1000)
	b.must(err)
	pending, err := b.s.PendingSignals(b.Context(), id, nil, 1000)
	b.must(err)
	taken, err := b.s.TakenSignals(b.Context(), id)
	b.must(err)
	head, err := b.s.LogHead(b.Context(), id)
	b.must(err)
	raw, err := json.Marshal([]any{b.execution(id), entries, tasks, checkpoints, pending, taken, head, b.log(id)})
	b.must(err)
	return string(raw)
}

// message makes an entry.
func message(parent *uuid.UUID, m perdure.Message) perdure.NewEntry {
	e, err := perdure.NewMessageEntry(m)
	if err != nil {
		panic(err)
	}
	e.ParentID = parent
	return perdure.NewEntry{Entry: e}
}

func user(parent *uuid.UUID, text string) perdure.NewEntry {
	return message(parent, perdure.UserText(text))
}

// calling is an assistant's message with tool calls of these ids.
func calling(parent *uuid.UUID, calls ...string) perdure.NewEntry {
	m := perdure.Message{Role: perdure.RoleAssistant, Content: perdure.Content{Parts: []perdure.Part{perdure.Text("let me see")}}}
	for _, id := range calls {
		m.Parts = append(m.Parts, perdure.Part{Type: perdure.PartToolCall, ID: id, Name: "bash", RawArguments: "{}"})
	}
	return message(parent, m)
}

func answering(parent *uuid.UUID, call string) perdure.NewEntry {
	return message(parent, perdure.Message{Role: perdure.RoleToolResult, Content: perdure.Content{Parts: []perdure.Part{
		{Type: perdure.PartToolResult, ToolCallID: call, Parts: []perdure.Part{perdure.Text("ok")}},
	}}})
}
