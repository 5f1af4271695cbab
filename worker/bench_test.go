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

// patience is how long a test waits for an expected event before it fails.
const patience = 60 * time.Second

// bench is an engine on its own store, with the workers that a test starts. At the end of the test,
// a cleanup function checks the invariants of the store. TestMain checks that no goroutine is left.
type bench struct {
	*testing.T
	e *engine.Engine
	s store.Store

	// ahead is how far the clock of the store is ahead of the real time, in nanoseconds.
	ahead atomic.Int64
	// halt stops the background work of the engine, and serve starts it.
	halt, serve func()

	agents []agent.Definition
	tasks  []agent.TaskKind

	// mode is the persistence mode of the executions that the method `start` creates. In mode
	// Local, each worker has its own local store, which is closed at the end of the test.
	mode   perdure.PersistenceMode
	stores []*local.Store
	folder string // folder of the engine's store; "" if newBenchOn created the bench
}

func newBench(t *testing.T, lease time.Duration) *bench {
	t.Helper()
	folder := t.TempDir()
	b := newBenchOn(t, opentest.At(filepath.Join(folder, "perdure.db")), lease)
	b.folder = folder
	return b
}

// newBenchOn creates a bench on a store, which it opens with `open`. The engine runs in the
// background until halt is called or the test ends.
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

// newStore creates a local store for a worker. The store is closed at the end of the test.
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

// running is a worker that has been started. The function `stop` stops the worker and waits for its
// end.
type running struct {
	*Worker
	stop func()
}

// work starts a worker with all defined agents and tasks, and waits until it is registered. Each
// function in `change` edits the worker's configuration. The worker stops at the end of the test,
// unless it is stopped before.
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

// wait receives a value from the channel ch and returns it. It fails the test if no value comes
// within patience.
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

// known registers the kind with the engine, without a worker, so that a test can start executions
// of this kind.
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

// until returns the execution as soon as the function `want` returns true for it. If that takes
// longer than patience, it fails the test.
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

// ended waits until the execution ends and returns it. It fails the test if the status is not the
// wanted one.
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

// texts returns the plain texts of the messages on the path to the leaf of the execution, oldest
// first.
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

// content returns the content `there` if it is inline. Otherwise it reads the content from the
// local store that has the blob `ref`.
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

// parkedNow waits until this worker has parked the goroutine of the execution.
func (r running) parkedNow(t *testing.T, id uuid.UUID) {
	t.Helper()
	eventually(t, "the goroutine to park", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.parked[id] != nil
	})
}

// eventually calls the function `so` every millisecond until it returns true. If that takes longer
// than patience, the test fails. It is for conditions that raise no hint, such as the state of a
// worker.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !so(); {
		if time.Now().After(limit) {
			t.Fatalf("waited in vain for %s", what)
		}
		rest(t.Context(), time.Millisecond)
	}
}

// user returns a message of the user with the given text.
func user(text string) perdure.Message { return perdure.UserText(text) }
