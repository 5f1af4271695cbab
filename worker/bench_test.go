package worker

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/worker/local"
)

func TestMain(m *testing.M) { os.Exit(opentest.Main(m)) }

const org = "acme"

// patience is the time for which a test waits for an expected event.
const patience = 60 * time.Second

// bench is an engine on its own store, with workers. After each test, no goroutine of a worker may
// be left, and the store's invariants must hold.
type bench struct {
	*testing.T
	e *engine.Engine
	s store.Store

	// ahead is the offset of the store's clock.
	ahead atomic.Int64
	// halt and serve stop and start the server's background work.
	halt, serve func()

	agents []agent.Definition
	tasks  []agent.TaskDefinition

	// mode is the mode of the executions that it starts. With Local, each worker has its own store,
	// which stays open until the test ends.
	mode   perdure.PersistenceMode
	stores []*local.Store
	folder string // of the server's store
}

func newBench(t *testing.T, lease time.Duration) *bench {
	t.Helper()
	folder := t.TempDir()
	b := newBenchOn(t, opentest.At(filepath.Join(folder, "perdure.db")), lease)
	b.folder = folder
	return b
}

// newBenchOn is newBench on the given kind of store.
func newBenchOn(t *testing.T, open opentest.Opener, lease time.Duration) *bench {
	t.Helper()
	b := &bench{T: t, mode: perdure.Remote}
	t.Cleanup(func() {
		for _, kept := range b.stores {
			if err := kept.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	b.s = open(t, func() time.Time { return time.Now().Add(time.Duration(b.ahead.Load())) })
	b.e = engine.New(engine.Config{Store: b.s, Lease: lease})
	b.serve = func() {
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		over := make(chan error, 1)
		go func() { over <- b.e.Run(ctx) }()
		b.halt = sync.OnceFunc(func() {
			stop()
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
	b.serve()
	t.Cleanup(func() { b.halt() })
	return b
}

// newStore creates a store for a worker.
func (b *bench) newStore() *local.Store {
	b.Helper()
	s, err := local.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.stores = append(b.stores, s)
	return s
}

func (b *bench) agent(name string, fn func(agent.Context) (string, error), unless ...string) {
	d := agent.DefineFunc(name, func(ctx agent.Context, _ any) (string, error) { return fn(ctx) })
	d.Unless = unless
	b.agents = append(b.agents, d)
}

func (b *bench) task(name string, fn func(agent.TaskContext, int) (int, error)) {
	b.tasks = append(b.tasks, agent.DefineTask(name, fn))
}

// running is a worker that runs until stop.
type running struct {
	*Worker
	stop func()
}

// work starts a worker with all defined agents and tasks; change edits its configuration. It is
// stopped at the end of the test at the latest.
func (b *bench) work(change ...func(*Config)) running {
	b.Helper()
	c := Config{Dispatch: b.e.Dispatch(org, false), Drain: -1, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for _, edit := range change {
		edit(&c)
	}
	if b.mode == perdure.Local && c.Local == nil {
		c.Local = b.newStore()
	}
	w := New(c)
	for _, d := range b.agents {
		w.RegisterAgent(d)
	}
	for _, d := range b.tasks {
		w.RegisterTask(d)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx) }()
	r := running{w, sync.OnceFunc(func() {
		cancel()
		if err := wait(b.T, "the worker to drain", over); err != nil {
			b.Error(err)
		}
	})}
	b.Cleanup(r.stop)
	wait(b.T, "the worker to register", w.Registered())
	return r
}

// wait receives an expected value from ch.
func wait[T any](t *testing.T, what string, ch <-chan T) T {
	t.Helper()
	over := time.NewTimer(patience)
	defer over.Stop()
	select {
	case v := <-ch:
		return v
	case <-over.C:
		t.Fatalf("waited in vain for %s", what)
		panic("unreachable")
	}
}

// known registers the kind, so that executions of it can be started before a worker runs.
func (b *bench) known(kind string) {
	b.Helper()
	_, err := b.e.Dispatch(org, false).Register(b.Context(), perdure.Registration{Agents: []perdure.KindSpec{{Kind: kind}}})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) start(kind string) uuid.UUID {
	b.Helper()
	x, err := b.e.Start(b.Context(), org, engine.StartRequest{Kind: kind, PersistenceMode: b.mode})
	if err != nil {
		b.Fatal(err)
	}
	return x.ID
}

func (b *bench) signal(id uuid.UUID, name, value string) {
	b.Helper()
	_, err := b.e.Signal(b.Context(), org, id, engine.SignalRequest{Name: name, Value: json.RawMessage(value)})
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) execution(id uuid.UUID) *perdure.Execution {
	b.Helper()
	x, err := b.s.Execution(context.WithoutCancel(b.Context()), org, id)
	if err != nil {
		b.Fatal(err)
	}
	return x
}

// until waits until the execution meets want.
func (b *bench) until(id uuid.UUID, what string, want func(*perdure.Execution) bool) *perdure.Execution {
	b.Helper()
	hints, unsubscribe := b.e.Hints.Subscribe(notify.Log(id))
	defer unsubscribe()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		x := b.execution(id)
		if want(x) {
			return x
		}
		select {
		case <-hints:
		case <-limit.C:
			b.Fatalf("the execution is %s (%s), want %s; its log: %v", x.Status, x.WaitReason, what, b.events(id))
		}
	}
}

func (b *bench) waiting(id uuid.UUID, reason string) *perdure.Execution {
	b.Helper()
	return b.until(id, "it to wait for a "+reason, func(x *perdure.Execution) bool {
		return x.Status == perdure.StatusWaiting && x.WaitReason == reason
	})
}

// ended waits for the end, and checks the status.
func (b *bench) ended(id uuid.UUID, want perdure.Status) *perdure.Execution {
	b.Helper()
	x := b.until(id, "it to end", func(x *perdure.Execution) bool { return x.Status.Terminal() })
	if x.Status != want {
		why := ""
		if x.Error != nil {
			why = *x.Error
		}
		b.Fatalf("it ended %s (%s), want %s", x.Status, why, want)
	}
	return x
}

func (b *bench) output(id uuid.UUID, want string) {
	b.Helper()
	var got string
	x := b.ended(id, perdure.StatusCompleted)
	if err := json.Unmarshal(b.content(id, x.Output, x.OutputBlob), &got); err != nil || got != want {
		b.Fatalf("the output is %q (%v), want %q", got, err, want)
	}
}

func (b *bench) log(id uuid.UUID) []perdure.Record {
	b.Helper()
	var all []perdure.Record
	for pos := int64(0); ; pos = all[len(all)-1].Pos {
		records, _, err := b.s.Log(context.WithoutCancel(b.Context()), id, pos, 1000)
		if err != nil {
			b.Fatal(err)
		}
		if all = append(all, records...); len(records) == 0 {
			return all
		}
	}
}

func (b *bench) events(id uuid.UUID) []perdure.EventType {
	b.Helper()
	var types []perdure.EventType
	for _, r := range b.log(id) {
		types = append(types, r.Type)
	}
	return types
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

// texts returns the texts on the path of the execution.
func (b *bench) texts(id uuid.UUID) []string {
	b.Helper()
	var texts []string
	x := b.execution(id)
	if x.Leaf == nil {
		return nil
	}
	for e, err := range b.s.Path(context.WithoutCancel(b.Context()), id, *x.Leaf, nil, 0, false) {
		if err != nil {
			b.Fatal(err)
		}
		e.Content = b.content(id, e.Content, e.Blob)
		m, err := e.Message()
		if err != nil {
			b.Fatal(err)
		}
		texts = append(texts, m.PlainText())
	}
	return texts
}

// content returns a content from the server, or from the worker that stores it.
func (b *bench) content(id uuid.UUID, there json.RawMessage, ref *perdure.BlobRef) json.RawMessage {
	b.Helper()
	if there != nil || ref == nil {
		return there
	}
	for _, s := range b.stores {
		content, err := s.Get(context.WithoutCancel(b.Context()), id, ref.SHA256)
		if err == nil {
			return content
		}
		if !perdure.IsCode(err, perdure.NotFound) {
			b.Fatal(err)
		}
	}
	b.Fatalf("no worker has the content %s", ref.SHA256)
	return nil
}

// parkedNow waits until the worker has parked the goroutine of the execution.
func (r running) parkedNow(t *testing.T, id uuid.UUID) {
	t.Helper()
	eventually(t, "the goroutine to park", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.parked[id] != nil
	})
}

// eventually polls until so returns true. It is for conditions that depend only on other
// goroutines.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !so(); {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain for %s", what)
		}
		rest(t.Context(), time.Millisecond)
	}
}

// user returns a user's message.
func user(text string) perdure.Message { return perdure.UserText(text) }
