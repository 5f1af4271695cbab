package worker

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// gauge counts work that runs at the same time, and records the maximum.
type gauge struct{ now, most atomic.Int32 }

func (g *gauge) enter() func() {
	n := g.now.Add(1)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			break
		}
	}
	return func() { g.now.Add(-1) }
}

// TestSlotsAreNeverExceeded checks that a worker with 12 executions never runs more agents or tasks
// at once than it has slots. All executions complete, and all slots are free at the end.
func TestSlotsAreNeverExceeded(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, slots := range []struct{ agents, tasks int }{{3, 2}, {1, 1}, {2, 5}} {
		for _, n := range []int{100, -1} {
			t.Run(fmt.Sprintf("%d agents, %d tasks, parked %d", slots.agents, slots.tasks, n), func(t *testing.T) {
				b := newBench(t, 20*time.Second)
				var agents, tasks gauge
				b.task("work", func(_ agent.TaskContext, n int) (int, error) {
					defer tasks.enter()()
					return n, nil
				})
				b.agent("a", func(ctx agent.Context) (string, error) {
					leave := agents.enter()
					futures := []agent.Future{ctx.Schedule("work", 1), ctx.Schedule("work", 2), ctx.Schedule("work", 3)}
					leave()
					_, err := agent.JoinAll[int](ctx, futures...)
					defer agents.enter()()
					return "fine", err
				})
				w := b.work(func(c *Config) { c.Agents, c.Tasks, c.Parked = slots.agents, slots.tasks, n })
				var ids []uuid.UUID
				for range 12 {
					ids = append(ids, b.start("a"))
				}
				for _, id := range ids {
					b.output(id, "fine")
				}
				if got := int(agents.most.Load()); got > slots.agents {
					t.Errorf("%d agents ran at once, the bound is %d", got, slots.agents)
				}
				if got := int(tasks.most.Load()); got > slots.tasks {
					t.Errorf("%d tasks ran at once, the bound is %d", got, slots.tasks)
				}
				w.stop()
				if n := len(w.agentSlots) + len(w.taskSlots); n != 0 {
					t.Errorf("%d slots are still taken", n)
				}
			})
		}
	}
}

// TestLastSlotIsNotLost checks that five polls, one after another, each get the only free slot, and
// that the slot is free again after each.
func TestLastSlotIsNotLost(t *testing.T) {
	s := newSlots(2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.acquire(ctx) // takes one slot
	polls := 0
	pollLoop(ctx, New(Config{}), s, nil, func(_ context.Context, p perdure.Poll) ([]int, error) {
		if p.Slots != 1 {
			t.Errorf("a poll with %d slots, one is free", p.Slots)
		}
		if polls++; polls == 5 {
			cancel()
		}
		return nil, nil
	}, func(int, time.Duration) {})
	if polls != 5 || len(s) != 1 {
		t.Errorf("after %d polls %d slots are taken, want 1", polls, len(s))
	}
}

// TestEagerClaimsTakeNoPoll checks that an agent with ten task calls needs one poll, 11 commits and
// ten ends of tasks. The reply to a commit contains the claim of the task, and the reply to the end
// of the task contains the claim of the execution.
func TestEagerClaimsTakeNoPoll(t *testing.T) {
	b := newBench(t, 20*time.Second)
	b.task("work", func(_ agent.TaskContext, n int) (int, error) { return n, nil })
	b.agent("a", func(ctx agent.Context) (string, error) {
		for i := range 10 {
			if _, err := agent.Call[int](ctx, "work", i); err != nil {
				return "", err
			}
		}
		return "fine", nil
	})
	var mu sync.Mutex
	agents, tasks := 0, 0
	f := &faulty{
		onAgents: func(c []perdure.AgentClaim) { mu.Lock(); defer mu.Unlock(); agents += len(c) },
		onTasks:  func(c []perdure.TaskClaim) { mu.Lock(); defer mu.Unlock(); tasks += len(c) },
	}
	b.work(b.overFaulty(f))
	b.output(b.start("a"), "fine")
	mu.Lock()
	defer mu.Unlock()
	if agents != 1 || tasks != 0 {
		t.Errorf("polls brought %d executions and %d tasks, want 1 and 0", agents, tasks)
	}
	if commits, finishes := f.count("Commit"), f.count("FinishTask"); commits != 11 || finishes != 10 {
		t.Errorf("%d commits and %d finishes, want 11 and 10", commits, finishes)
	}
}

// TestParkedGoroutinesAreBounded checks that at most Config.Parked goroutines are parked. If a
// goroutine is discarded, its function is entered again.
func TestParkedGoroutinesAreBounded(t *testing.T) {
	b := newBench(t, 20*time.Second)
	var entered atomic.Int32
	b.agent("a", func(ctx agent.Context) (string, error) {
		entered.Add(1)
		_, err := ctx.WaitSignal("go", 0)
		return "fine", err
	})
	w := b.work(func(c *Config) { c.Parked = 2 })
	var ids []uuid.UUID
	for range 4 {
		id := b.start("a")
		w.parkedNow(t, id)
		ids = append(ids, id)
	}
	w.mu.Lock()
	kept := len(w.parked)
	w.mu.Unlock()
	if kept > 2 {
		t.Errorf("%d goroutines are kept, want 2", kept)
	}
	for _, id := range ids {
		b.signal(id, "go", "1")
		b.output(id, "fine")
	}
	if n := entered.Load(); n != 6 { // the functions of two discarded goroutines were entered again
		t.Errorf("the function was entered %d times, want 6", n)
	}
}
