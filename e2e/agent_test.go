package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/opentest"
	"github.com/perdure/perdure/worker"
)

// testEngine is an engine with workers and a store of its own.
type testEngine struct {
	t      *testing.T
	engine *engine.Engine
	store  store.Store
	stop   context.CancelFunc
}

func newTestEngine(t *testing.T, parked int, agents []agent.Definition, tasks []agent.TaskKind) *testEngine {
	t.Helper()
	s := opentest.Store(t)
	e := engine.New(engine.Config{Store: s, Lease: 5 * time.Second})
	ctx, cancel := context.WithCancel(context.Background())
	w := worker.New(worker.Config{Dispatch: e.Dispatch("default", true), Parked: parked, Drain: time.Second})
	for _, a := range agents {
		w.RegisterAgent(a)
	}
	for _, d := range tasks {
		w.RegisterTask(d)
	}
	done := make(chan struct{}, 2)
	go func() { defer func() { done <- struct{}{} }(); _ = e.Run(ctx) }()
	go func() {
		defer func() { done <- struct{}{} }()
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-w.Registered():
	case <-time.After(10 * time.Second):
		t.Fatal("the worker did not register")
	}
	t.Cleanup(func() {
		cancel()
		<-done
		<-done
	})
	return &testEngine{t: t, engine: e, store: s, stop: cancel}
}

func (b *testEngine) start(kind string, input any) uuid.UUID {
	b.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		b.t.Fatal(err)
	}
	x, err := b.engine.Start(b.t.Context(), "default", engine.StartRequest{Kind: kind, Input: raw})
	if err != nil {
		b.t.Fatal(err)
	}
	return x.ID
}

// until waits until the function `want` returns true for the execution, and returns the execution.
func (b *testEngine) until(id uuid.UUID, want func(*perdure.Execution) bool) *perdure.Execution {
	b.t.Helper()
	hints, unsubscribe := b.engine.Hints.Subscribe("log." + id.String())
	defer unsubscribe()
	limit := time.After(30 * time.Second)
	for {
		x, err := b.store.Execution(b.t.Context(), "default", id)
		if err != nil {
			b.t.Fatal(err)
		}
		if want(x) {
			return x
		}
		select {
		case <-hints:
		case <-limit:
			b.dump(id)
			b.t.Fatalf("execution is %s (%v)", x.Status, x.WaitReason)
		}
	}
}

func (b *testEngine) ended(id uuid.UUID) *perdure.Execution {
	return b.until(id, func(x *perdure.Execution) bool { return x.Status.Terminal() })
}

func (b *testEngine) dump(id uuid.UUID) {
	records, _, err := b.store.Log(b.t.Context(), id, 0, 1000)
	if err != nil {
		b.t.Log(err)
	}
	for _, r := range records {
		b.t.Logf("%d %d %s %s %+v", r.Pos, r.Seq, r.Type, r.Fields, r.Chunk)
	}
}

func TestAgentUsesEverythingOnce(t *testing.T) {
	for _, parked := range []int{100, -1} {
		t.Run(fmt.Sprintf("parked %d", parked), func(t *testing.T) { agentUsesEverythingOnce(t, parked) })
	}
}

func agentUsesEverythingOnce(t *testing.T, parked int) {
	steps := 0
	double := agent.DefineTask("double", func(ctx agent.TaskContext, n int) (int, error) {
		ctx.Stream().Text(fmt.Sprintf("doubling %d", n))
		return 2 * n, nil
	})
	fails := agent.DefineTask("fails", func(ctx agent.TaskContext, n int) (int, error) {
		return 0, agent.Permanent(errors.New("no luck"))
	})
	all := agent.DefineFunc("all", func(ctx agent.Context, in int) (string, error) {
		// If the agent's function runs again, it starts from the newest checkpoint. The function
		// therefore makes this checkpoint only once.
		var phase string
		if begun, err := ctx.State(&phase); err != nil {
			return "", err
		} else if !begun {
			if err := ctx.Checkpoint("begun"); err != nil {
				return "", err
			}
		}
		first, err := agent.Step(ctx, "first", func(context.Context) (int, error) { steps++; return in + 1, nil })
		if err != nil {
			return "", err
		}
		var futures []agent.Future
		for i := range 5 {
			futures = append(futures, ctx.Schedule("double", first+i))
		}
		doubled, err := agent.JoinAll[int](ctx, futures...)
		if err != nil {
			return "", err
		}
		if err := ctx.Sleep(10 * time.Millisecond); err != nil {
			return "", err
		}
		if _, err := agent.Call[int](ctx, "fails", 1); err == nil || err.Error() == "" {
			return "", errors.New("a failing task must fail")
		}
		if i, v, err := agent.Select[int](ctx, ctx.Schedule("fails", 2), ctx.Schedule("double", 50)); err != nil || i != 1 || v != 100 {
			return "", fmt.Errorf("select gave %d %d %v", i, v, err)
		}
		signal, err := ctx.WaitSignal("go.*", 0)
		if err != nil {
			return "", err
		}
		if _, err := ctx.WaitSignal("never", 10*time.Millisecond); !errors.Is(err, agent.ErrTimeout) {
			return "", fmt.Errorf("wait gave %v", err)
		}
		return fmt.Sprintf("%v %s", doubled, signal.Value), nil
	})
	b := newTestEngine(t, parked, []agent.Definition{all}, []agent.TaskKind{double, fails})
	id := b.start("all", 1)
	b.until(id, func(x *perdure.Execution) bool { return x.Status == perdure.StatusWaiting && x.WaitReason == "signal" })
	if _, err := b.engine.Signal(t.Context(), "default", id, engine.SignalRequest{Name: "go.now", Value: json.RawMessage(`"hi"`)}); err != nil {
		t.Fatal(err)
	}
	x := b.ended(id)
	if got := string(x.Output); x.Status != perdure.StatusCompleted || got != `"[4 6 8 10 12] \"hi\""` {
		b.dump(id)
		t.Fatalf("%s %s %v", x.Status, got, *x.Error)
	}
	if steps != 1 {
		t.Errorf("the step ran %d times", steps)
	}
}
