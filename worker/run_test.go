package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestBlockingCallFromAnotherGoroutine checks that a blocking call of agent.Context panics in any
// goroutine other than the one in which the agent's function runs. The message names the method and
// the alternative JoinAll.
func TestBlockingCallFromAnotherGoroutine(t *testing.T) {
	b := newBench(t, 5*time.Second)
	said := make(chan string, 10)
	b.agent("a", func(ctx agent.Context) (string, error) {
		calls := map[string]func(){
			"Await":      func() { _, _ = ctx.Await(agent.All, ctx.Schedule("x", 1)) },
			"Sleep":      func() { _ = ctx.Sleep(time.Second) },
			"WaitSignal": func() { _, _ = ctx.WaitSignal("x", 0) },
			"RunStep":    func() { _, _ = agent.Step(ctx, "s", func(context.Context) (int, error) { return 0, nil }) },
			"Flush":      func() { _ = ctx.Checkpoint(1) },
		}
		var wg sync.WaitGroup
		for name, call := range calls {
			wg.Go(func() {
				defer func() { said <- fmt.Sprintf("%s: %v", name, recover()) }()
				call()
			})
			wg.Wait()
		}
		return "fine", nil
	})
	b.work()
	b.output(b.start("a"), "fine")
	for range 5 {
		line := wait(t, "a panic", said)
		name, message, _ := strings.Cut(line, ":")
		if !strings.Contains(message, "agent.Context."+name) || !strings.Contains(message, "JoinAll") {
			t.Errorf("the panic says %q", line)
		}
	}
}

// TestDiscardedGoroutineWritesNothing checks a goroutine that is discarded at a wait. Its deferred
// functions run, but nothing that they request is stored. Neither the wait nor a deferred blocking
// call returns.
func TestDiscardedGoroutineWritesNothing(t *testing.T) {
	b := newBench(t, 5*time.Second)
	var entered, deferred, sawError atomic.Int32
	causes := make(chan error, 10)
	b.agent("a", func(ctx agent.Context) (string, error) {
		entered.Add(1)
		normal := false
		defer func() {
			if normal {
				return
			}
			deferred.Add(1)
			causes <- context.Cause(ctx)
			_, _ = ctx.Append(user("ghost"))
			_ = ctx.Emit("ghost")
			ctx.Schedule("work", 1)
			defer func() { deferred.Add(1) }()
			_ = ctx.Flush()
			sawError.Add(1) // never reached, because Flush does not return
		}()
		for _, name := range []string{"one", "two"} {
			if _, err := ctx.WaitSignal(name, 0); err != nil {
				sawError.Add(1)
				return "", err
			}
		}
		normal = true
		return "fine", nil
	})
	b.work(func(c *Config) { c.Parked = -1 })
	id := b.start("a")
	for i, name := range []string{"one", "two"} {
		b.waiting(id, "signal")
		// A claim that arrives before the goroutine has parked would resume it.
		eventually(t, "the goroutine to be discarded", func() bool { return int(deferred.Load()) == 2*(i+1) })
		b.signal(id, name, "1")
	}
	b.output(id, "fine")
	if entered.Load() != 3 || deferred.Load() != 4 || sawError.Load() != 0 {
		t.Errorf("entered %d times, %d deferred functions ran, %d errors seen", entered.Load(), deferred.Load(), sawError.Load())
	}
	for range 2 {
		if cause := <-causes; !errors.Is(cause, agent.ErrDiscarded) {
			t.Errorf("the cause is %v", cause)
		}
	}
	for _, what := range []perdure.EventType{perdure.EventEntry, perdure.EventData, perdure.EventTaskScheduled} {
		if n := b.count(id, what); n != 0 {
			t.Errorf("%d %s events of a discarded goroutine", n, what)
		}
	}
}

// TestClaimBeforeTheGoroutineHasParked checks that a goroutine continues if its next claim arrives
// before it has parked. If the reply to its commit is lost after that, the function is entered
// again with that claim.
func TestClaimBeforeTheGoroutineHasParked(t *testing.T) {
	for _, commitFails := range []bool{false, true} {
		t.Run(fmt.Sprintf("the commit's answer is lost: %v", commitFails), func(t *testing.T) {
			b := newBench(t, 5*time.Second)
			var entered atomic.Int32
			b.agent("a", func(ctx agent.Context) (string, error) {
				entered.Add(1)
				s, err := ctx.WaitSignal("go", 0)
				return string(s.Value), err
			})
			f := &faulty{}
			w := make(chan *Worker, 1)
			once := sync.Once{}
			f.onCommit = func(c perdure.Commit, r *perdure.CommitReply) (err error) {
				once.Do(func() {
					// The server has stored the commit that suspends the execution. Before the
					// worker receives the reply to that commit, the execution wakes, and its next
					// claim is passed to the goroutine.
					b.signal(c.Lease.ExecutionID, "go", `1`)
					w := <-w
					eventually(t, "the claim to be handed over", func() bool {
						w.mu.Lock()
						defer w.mu.Unlock()
						r := w.runs[c.Lease.ExecutionID]
						return r != nil && r.handed
					})
					// The server's reply to a heartbeat at this time says that the old lease is
					// lost.
					w.beatOnce(t.Context(), time.Second)
					if commitFails {
						err = perdure.Errorf(perdure.LeaseLost, "planned")
					}
				})
				return err
			}
			r := b.work(b.overFaulty(f))
			w <- r.Worker
			b.output(b.start("a"), "1")
			want := int32(1)
			if commitFails {
				want = 2 // the goroutine ends, and the function is entered with the new claim
			}
			if n := entered.Load(); n != want {
				t.Errorf("the function was entered %d times, want %d", n, want)
			}
			r.stop()
			if n := len(r.agentSlots); n != 0 {
				t.Errorf("%d agent slots are still taken", n)
			}
		})
	}
}

// TestParkedGoroutineThatWasOvertaken checks that a parked goroutine does not continue if another
// worker has continued the execution in the meantime. The function is entered again, and each entry
// is stored once.
func TestParkedGoroutineThatWasOvertaken(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, 5*time.Second)
	var entered atomic.Int32
	b.agent("a", func(ctx agent.Context) (string, error) {
		entered.Add(1)
		var said []string
		for _, name := range []string{"one", "two", "three"} {
			s, err := ctx.WaitSignal(name, 0)
			if err != nil {
				return "", err
			}
			said = append(said, string(s.Value))
			if _, err := ctx.Append(user(string(s.Value)), agent.WithKey(s.EntryKey())); err != nil {
				return "", err
			}
		}
		return strings.Join(said, ","), nil
	})
	var away atomic.Bool // whether the polls of the first worker do not arrive
	f := &faulty{plan: func(method string, _ int) fault {
		if method == "PollAgents" && away.Load() {
			return before
		}
		return fine
	}}
	first := b.work(b.overFaulty(f), func(c *Config) { c.PollWait = 10 * time.Millisecond })
	id := b.start("a")
	b.waiting(id, "signal")
	first.parkedNow(t, id)
	away.Store(true)
	seen := f.count("PollAgents")
	eventually(t, "the poll under way to end", func() bool { return f.count("PollAgents") > seen+1 })
	second := b.work()
	b.signal(id, "one", "1")
	b.until(id, "it to wait for the second", func(x *perdure.Execution) bool {
		return x.Status == perdure.StatusWaiting && x.LastCommit.Fence == 2
	})
	second.stop()
	away.Store(false)
	b.signal(id, "two", "2")
	b.signal(id, "three", "3")
	b.output(id, "1,2,3")
	if n := entered.Load(); n < 3 {
		t.Errorf("the function was entered %d times; the parked goroutine went on where it no longer stood", n)
	}
	if texts := b.texts(id); !slices.Equal(texts, []string{"1", "2", "3"}) {
		t.Errorf("the texts are %q", texts)
	}
}

// TestLateClaimThatWasOvertaken checks that the method `untrack` returns a claim that the run has
// not adopted, and reports whether a newer run of the execution has replaced the run.
func TestLateClaimThatWasOvertaken(t *testing.T) {
	for _, overtaken := range []bool{true, false} {
		w := New(Config{})
		r := &run{w: w, id: uuid.New(), resume: make(chan resumption, 1)}
		w.runs[r.id] = r
		r.resume <- resumption{claim: &perdure.AgentClaim{}}
		if overtaken {
			w.runs[r.id] = &run{w: w, id: r.id}
		}
		late, was := w.untrack(r)
		if late == nil || was != overtaken || (w.runs[r.id] != nil) != overtaken {
			t.Errorf("overtaken %v: the claim is %v, said %v, tracked %v", overtaken, late, was, w.runs[r.id])
		}
	}
}
