package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestResumeOfEveryEnd checks that a function that is entered again receives the same results as
// before from a failed step, and from completed, failed and cancelled tasks. No code runs a second
// time, and the number of commits does not grow with the number of records.
func TestResumeOfEveryEnd(t *testing.T) {
	longtest.Skip(t, "seconds")
	const calls = 120
	eachLine(t, func(b *bench, line perdure.Dispatch) {
		var ran atomic.Int32
		b.task("double", func(_ agent.TaskContext, n int) (int, error) { ran.Add(1); return 2 * n, nil })
		b.task("fail", func(agent.TaskContext, int) (int, error) {
			return 0, agent.Permanent(perdure.Errorf(perdure.Conflict, "no luck"))
		})
		b.task("endless", func(ctx agent.TaskContext, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() })
		var first atomic.Value
		b.agent("a", func(ctx agent.Context) (string, error) {
			var saw []string
			note := func(v any, err error) { saw = append(saw, fmt.Sprint(v, " ", err)) }
			for i := range calls {
				note(agent.Call[int](ctx, "double", i))
			}
			note(agent.Call[int](ctx, "fail", 1))
			note(agent.Step(ctx, "fails", func(context.Context) (int, error) {
				ran.Add(1)
				return 0, perdure.Errorf(perdure.NotFound, "nothing")
			}))
			chosen, n, err := agent.SelectCancel[int](ctx, ctx.Schedule("endless", 1), ctx.Schedule("double", -1))
			note(fmt.Sprint(chosen, n), err)
			note(agent.JoinSettled[int](ctx, ctx.Schedule("fail", 2), ctx.Schedule("double", -2)))
			if was := first.Swap(strings.Join(saw, "\n")); was != nil && was != strings.Join(saw, "\n") {
				return "", fmt.Errorf("it saw\n%s\nand before\n%s", strings.Join(saw, "\n"), was)
			}
			_, err = ctx.WaitSignal("go", 0)
			return "fine", err
		})
		w := b.work()
		id := b.start("a")
		b.waiting(id, "signal")
		w.stop()
		before := ran.Load()
		f := &faulty{}
		b.work(counted(f, line))
		b.signal(id, "go", "1")
		b.output(id, "fine")
		if ran.Load() != before || before != calls+3 {
			b.Errorf("%d ran before, and %d in all", before, ran.Load())
		}
		// If the worker did not know that a task has ended, it would make a commit for the task.
		if n, m := f.count("Commit"), f.count("Tasks"); n > 4 || m > 4 {
			b.Errorf("%d commits and %d calls of GetTasks for %d records", n, m, calls+5)
		}
	})
}

// TestResumeComparesTheCallersKey checks a task whose key was chosen by agent code. The server
// refuses the same key with another input, even if the worker knows that the first task has ended.
func TestResumeComparesTheCallersKey(t *testing.T) {
	b := newBench(t, time.Minute)
	b.task("double", func(_ agent.TaskContext, n int) (int, error) { return 2 * n, nil })
	input := 1
	b.agent("a", func(ctx agent.Context) (string, error) {
		input++
		_, err := agent.Call[int](ctx, "double", input, agent.Key("k"))
		if input > 2 {
			return string(perdure.CodeOf(err)), nil
		}
		_, err = ctx.WaitSignal("go", 0)
		return "", err
	})
	w := b.work(func(c *Config) { c.Parked = 100 })
	id := b.start("a")
	b.waiting(id, "signal")
	w.stop()
	b.work()
	b.signal(id, "go", "1")
	b.output(id, string(perdure.IdempotencyKeyReused))
}

// TestResumeFindsWhatEndedMeanwhile checks that Await returns a task that ended after the claim was
// read and before the function requested it.
func TestResumeFindsWhatEndedMeanwhile(t *testing.T) {
	eachLine(t, func(b *bench, line perdure.Dispatch) {
		release := defineTasks(b)
		var runs atomic.Int32
		b.agent("a", func(ctx agent.Context) (string, error) {
			held := ctx.Schedule("held", 1)
			runs.Add(1)
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			n, err := agent.Await[int](ctx, held)
			return fmt.Sprint(n), err
		})
		w := b.work(func(c *Config) { c.Parked = -1 })
		id := b.start("a")
		b.waiting(id, "signal")
		w.stop()
		agents := b.agents
		b.agents = nil
		b.work() // this worker only runs the tasks
		b.agents = agents
		f := &faulty{}
		f.onAgents = func(claims []perdure.AgentClaim) {
			if claims[0].Ended == nil || len(claims[0].Ended.Heads) != 0 {
				b.Errorf("the page is %+v", claims[0].Ended)
			}
			release(1)
			eventually(b.T, "the task to end", func() bool {
				page, err := b.s.Ended(b.Context(), id, 0, 10, 1<<20)
				return err == nil && len(page.Heads) == 1
			})
		}
		b.work(counted(f, line))
		b.signal(id, "go", "1")
		b.output(id, "2")
	})
}

// TestTwoRecordsOfOneKey checks that a second record of a step with the same key is ignored: the
// pages contain only the first record.
func TestTwoRecordsOfOneKey(t *testing.T) {
	eachLine(t, func(b *bench, line perdure.Dispatch) {
		b.known("a")
		id := b.start("a")
		poll := perdure.Poll{Queues: []string{"default"}, Kinds: []string{"a"}, Slots: 1, Wait: patience, Ended: true}
		claims, err := line.PollAgents(b.Context(), poll)
		if err != nil || len(claims) != 1 {
			b.Fatal(claims, err)
		}
		lease, key := claims[0].Lease, perdure.StepKey(id, "s", "")
		for n := range 2 {
			_, err := line.Commit(b.Context(), perdure.Commit{Lease: lease, Number: int64(n + 1), Steps: []perdure.StepRecord{
				{Name: "s", Key: key, Result: perdure.Inline([]byte(fmt.Sprint(n)))},
			}})
			if err != nil {
				b.Fatal(err)
			}
		}
		page, err := line.Ended(b.Context(), perdure.EndedQuery{Lease: lease})
		if err != nil || len(page.Heads) != 1 || string(page.Heads[0].Result.Bytes) != "0" || page.More {
			b.Errorf("the page is %+v (%v)", page, err)
		}
	})
}

// TestAKillBetweenPages checks that no step runs twice if a worker is killed when it requests the
// second page of records.
func TestAKillBetweenPages(t *testing.T) {
	longtest.Skip(t, "seconds")
	b := newBench(t, time.Minute)
	s := &stepper{steps: 2200, size: 10}
	b.agent("a", s.run)
	first := b.work(func(c *Config) { c.Parked = -1 })
	id := b.start("a")
	b.waiting(id, "signal")
	first.stop()
	m := newMortal(b.e.Dispatch(org, true), 0, false)
	f := &faulty{Dispatch: m}
	f.onEnded = func(perdure.EndedQuery) {
		if f.count("Ended") == 1 { // this call requests the second page
			close(m.dead)
		}
	}
	second := b.work(func(c *Config) { c.Dispatch = f })
	b.signal(id, "go", "1")
	wait(t, "the kill", m.dead)
	m.polls.Wait()
	second.stop()
	if err := b.e.ReturnEmbedded(b.Context()); err != nil {
		t.Fatal(err)
	}
	b.work()
	b.output(id, "fine")
	if n := s.ran.Load(); n != 2201 {
		t.Errorf("%d steps ran, want 2201", n)
	}
}

// TestResumeInAnotherOrder checks that a function that requests its steps in another order than
// before receives their results. On average, at most five records are fetched per step.
func TestResumeInAnotherOrder(t *testing.T) {
	longtest.Skip(t, "seconds")
	const steps = 1500
	for name, reorder := range map[string]func([]int){
		"backwards": slices.Reverse[[]int],
		"at random": func(order []int) {
			rand.New(rand.NewPCG(1, 2)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, time.Minute)
			s := &stepper{size: 2000}
			var order []int
			for i := range steps {
				order = append(order, i)
			}
			b.agent("a", func(ctx agent.Context) (string, error) {
				for n, i := range order {
					if err := s.step(ctx, i); err != nil {
						return "", err
					}
					if n%500 == 499 {
						if err := ctx.Flush(); err != nil {
							return "", err
						}
					}
				}
				_, err := ctx.WaitSignal("go", 0)
				return "fine", err
			})
			w := b.work(func(c *Config) { c.Parked = -1 })
			id := b.start("a")
			b.waiting(id, "signal")
			w.stop()
			reorder(order)
			f := &faulty{}
			b.work(counted(f, b.e.Dispatch(org, false)))
			b.signal(id, "go", "1")
			b.output(id, "fine")
			if n := s.ran.Load(); n != steps {
				t.Errorf("%d steps ran, want %d", n, steps)
			}
			if pages, tasks, ids := f.count("Ended"), f.count("Tasks"), f.count("an id of Tasks"); pages > 2 || tasks > steps || ids > 5*steps {
				t.Errorf("%d pages and %d calls of GetTasks for %d ids", pages, tasks, ids)
			}
		})
	}
}

// TestResumeOfStepsAndTasksInTurns checks a resume with 60 steps with large results and 60 tasks
// that alternate with them. At most two calls of GetTasks read the contents.
func TestResumeOfStepsAndTasksInTurns(t *testing.T) {
	longtest.Skip(t, "seconds")
	const turns = 60
	b := newBench(t, time.Minute)
	b.task("double", func(_ agent.TaskContext, n int) (int, error) { return 2 * n, nil })
	s := &stepper{size: 3000}
	b.agent("a", func(ctx agent.Context) (string, error) {
		for i := range turns {
			if err := s.step(ctx, i); err != nil {
				return "", err
			}
			if n, err := agent.Call[int](ctx, "double", i); err != nil || n != 2*i {
				return "", fmt.Errorf("double %d: %d, %w", i, n, err)
			}
		}
		_, err := ctx.WaitSignal("go", 0)
		return "fine", err
	})
	w := b.work()
	id := b.start("a")
	b.waiting(id, "signal")
	w.stop()
	f := &faulty{}
	b.work(counted(f, b.e.Dispatch(org, false)))
	b.signal(id, "go", "1")
	b.output(id, "fine")
	if tasks, commits := f.count("Tasks"), f.count("Commit"); tasks > 2 || commits > 2 {
		t.Errorf("%d calls of GetTasks and %d commits", tasks, commits)
	}
}

// TestResumeOfALocalExecution checks that the steps of a LOCAL execution do not run again when its
// function is entered again. Their results are read in at most three calls of GetTasks.
func TestResumeOfALocalExecution(t *testing.T) {
	b := newBench(t, time.Minute)
	b.mode = perdure.Local
	kept := b.newStore()
	s := &stepper{steps: 60, size: 3000}
	s.before = func(ctx agent.Context) error {
		_, err := agent.Step(ctx, "fails", func(context.Context) (int, error) { return 0, perdure.Errorf(perdure.Conflict, secret) })
		if err == nil || err.Error() != "conflict: "+secret {
			return errors.Join(errors.New("the failed step gave another error"), err)
		}
		return nil
	}
	b.agent("a", s.run)
	w := b.work(func(c *Config) { c.Local, c.Parked = kept, -1 })
	id := b.start("a")
	b.waiting(id, "signal")
	w.stop()
	f := &faulty{}
	b.work(counted(f, b.e.Dispatch(org, false)), func(c *Config) { c.Local, c.ID = kept, kept.WorkerID() })
	b.signal(id, "go", "1")
	b.output(id, "fine")
	if n := s.ran.Load(); n != 61 {
		t.Errorf("%d steps ran, want 61", n)
	}
	if n := f.count("Tasks"); n > 3 { // one of the calls is for the new step
		t.Errorf("GetTasks was called %d times", n)
	}
}
