package worker

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestStepsRunOnce checks that a step runs once. A function that is entered again receives the
// step's recorded result or error.
func TestStepsRunOnce(t *testing.T) {
	eachWay(t, time.Minute, func(b *bench, way func(*Config)) {
		var ran, failed atomic.Int32
		b.agent("a", func(ctx agent.Context) (string, error) {
			n, err := agent.Step(ctx, "count", func(context.Context) (int32, error) { return ran.Add(1), nil })
			if err != nil {
				return "", err
			}
			_, err = agent.Step(ctx, "fails", func(context.Context) (int, error) {
				failed.Add(1)
				return 0, perdure.Errorf(perdure.Conflict, "no luck")
			})
			if !perdure.IsCode(err, perdure.Conflict) || err.Error() != "conflict: no luck" {
				return "", fmt.Errorf("the failing step gave %w", err)
			}
			var coded *perdure.TaskError
			if !errors.As(err, &coded) {
				return "", fmt.Errorf("its error is a %T, not the one that comes back from the record", err)
			}
			_, err = ctx.WaitSignal("go", 0)
			return fmt.Sprint(n), err
		})
		w := b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		w.stop()
		b.work(way)
		b.signal(id, "go", "1")
		b.output(id, "1")
		if ran.Load() != 1 || failed.Load() != 1 {
			b.Errorf("the steps ran %d and %d times", ran.Load(), failed.Load())
		}
	})
}

func TestStepNameReused(t *testing.T) {
	eachWay(t, time.Minute, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			step := func(opts ...agent.StepOption) error {
				_, err := agent.Step(ctx, "s", func(context.Context) (int, error) { return 1, nil }, opts...)
				return err
			}
			if err := errors.Join(step(), step(agent.StepInstance("a")), step(agent.StepInstance("b"))); err != nil {
				return "", err
			}
			if err := ctx.Sleep(time.Millisecond); err != nil {
				return "", err
			}
			if err := step(agent.StepInstance("a")); !perdure.IsCode(err, perdure.StepNameReused) || !strings.Contains(err.Error(), `"s"`) {
				return "", fmt.Errorf("the instance's second use gave %w", err)
			}
			return string(perdure.CodeOf(step())), nil
		})
		b.work(way)
		b.output(b.start("a"), string(perdure.StepNameReused))
	})
}

// TestLazyStep checks steps before a panic of the agent. A step does not run again, because its
// record was committed at once. A lazy step runs again, because its record is stored only with the
// next commit.
func TestLazyStep(t *testing.T) {
	longtest.Skip(t, "seconds")
	for _, lazy := range []bool{false, true} {
		b := newBench(t, time.Minute)
		var ran, entered atomic.Int32
		b.agent("a", func(ctx agent.Context) (string, error) {
			var opts []agent.StepOption
			if lazy {
				opts = append(opts, agent.Lazy())
			}
			n, err := agent.Step(ctx, "s", func(context.Context) (int32, error) { return ran.Add(1), nil }, opts...)
			if err != nil {
				return "", err
			}
			if entered.Add(1) == 1 {
				panic("a crash")
			}
			return fmt.Sprint(n), nil
		})
		b.work()
		want := "1"
		if lazy {
			want = "2"
		}
		b.output(b.start("a"), want)
	}
}

// TestTurnIDs checks that events, entries and tasks contain the turn id of the last call of
// SetTurn.
func TestTurnIDs(t *testing.T) {
	b := newBench(t, time.Minute)
	b.task("double", func(ctx agent.TaskContext, n int) (int, error) { ctx.Stream().Text("doubling"); return 2 * n, nil })
	b.agent("a", func(ctx agent.Context) (string, error) {
		for n, turn := range []string{"turn_a", "turn_b"} {
			ctx.SetTurn(turn)
			if _, err := ctx.Append(user(turn), agent.WithKey(turn)); err != nil {
				return "", err
			}
			if err := ctx.Emit(turn); err != nil {
				return "", err
			}
			ctx.Stream().Text("says")
			if _, err := agent.Call[int](ctx, "double", n); err != nil {
				return "", err
			}
		}
		return "fine", nil
	})
	b.work()
	id := b.start("a")
	b.output(id, "fine")
	got := map[perdure.EventType]map[string]int{}
	for _, r := range b.log(id) {
		if got[r.Type] == nil {
			got[r.Type] = map[string]int{}
		}
		got[r.Type][r.Place.TurnID]++
	}
	for kind, want := range map[perdure.EventType]int{
		perdure.EventEntry: 1, perdure.EventData: 1, perdure.EventTaskScheduled: 1, perdure.EventTaskCompleted: 1,
		perdure.EventToken: 2, perdure.EventBlockClosed: 2,
	} {
		if got[kind]["turn_a"] != want || got[kind]["turn_b"] != want || got[kind][""] != 0 {
			t.Errorf("%s events by turn: %v, want %d each", kind, got[kind], want)
		}
	}
	x := b.execution(id)
	for e, err := range b.s.Path(t.Context(), id, *x.Leaf, nil, 0, false) {
		m, _ := e.Message()
		if err != nil || e.TurnID != m.PlainText() || e.ResponseID != x.ResponseID {
			t.Errorf("entry %q belongs to turn %q of response %q (%v)", m.PlainText(), e.TurnID, e.ResponseID, err)
		}
	}
	page, err := b.s.ListTasks(t.Context(), id, false, "", 10)
	if err != nil || len(page.Items) != 2 || page.Items[0].Place.TurnID != "turn_a" || page.Items[1].Place.TurnID != "turn_b" {
		t.Errorf("the tasks: %+v, %v", page.Items, err)
	}
}

// TestSignalsThatNobodyTakes checks an agent whose function is called again because of a pending
// signal that the definition lists in Unless. The function still does not take the signal. The
// execution fails, and the error names the signal. An agent that takes one signal in each call
// completes.
func TestSignalsThatNobodyTakes(t *testing.T) {
	b := newBench(t, time.Minute)
	var entered atomic.Int32
	b.agent("deaf", func(ctx agent.Context) (string, error) {
		entered.Add(1)
		if _, err := ctx.WaitSignal("other", 0); err != nil { // received again at the next entry
			return "", err
		}
		return "fine", nil
	}, "m", "unused")
	b.agent("slow", func(ctx agent.Context) (string, error) { // takes one signal in each call
		if has, err := ctx.HasSignal("m"); err != nil || !has {
			return "fine", err
		}
		s, err := ctx.WaitSignal("m", 0)
		if err != nil {
			return "", err
		}
		_, err = ctx.Append(user(string(s.Value)), agent.WithKey(s.EntryKey()))
		if err == nil {
			err = ctx.Checkpoint(1)
		}
		return "fine", err
	}, "m")
	b.known("deaf")
	b.known("slow")
	deaf, slow := b.start("deaf"), b.start("slow")
	b.signal(deaf, "other", "0")
	for i := range 3 {
		b.signal(deaf, "m", fmt.Sprint(i))
		b.signal(slow, "m", fmt.Sprint(i))
	}
	b.work()
	x := b.ended(deaf, perdure.StatusFailed)
	if *x.ErrorCode != "signals_unread" || !strings.Contains(*x.Error, `"m"`) || strings.Contains(*x.Error, "unused") {
		t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
	}
	if n := entered.Load(); n != 2 {
		t.Errorf("it was entered %d times, want 2", n)
	}
	b.output(slow, "fine")
	if texts := b.texts(slow); fmt.Sprint(texts) != "[0 1 2]" {
		t.Errorf("it read %q", texts)
	}
}

// TestTheInstanceOfAStepIsStored checks that a step is stored with its instance. If the instance is
// too long or not text, the record does not contain the instance, but the instance still identifies
// the step.
func TestTheInstanceOfAStepIsStored(t *testing.T) {
	instances := []string{"", "seven", strings.Repeat("x", 513), "\xff", "a\x00b"}
	eachWay(t, time.Minute, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			for i, instance := range instances {
				n, err := agent.Step(ctx, "s", func(context.Context) (int, error) { return i, nil }, agent.StepInstance(instance))
				if err != nil || n != i {
					return "", errors.Join(err, fmt.Errorf("step %d gave %d", i, n))
				}
			}
			return strconv.Itoa(len(instances)), nil
		})
		b.work(way)
		id := b.start("a")
		b.output(id, strconv.Itoa(len(instances)))
		for i, instance := range instances {
			stored, err := b.s.Tasks(b.Context(), id, []uuid.UUID{perdure.TaskID(perdure.StepKey(id, "s", instance))}, false)
			if err != nil || len(stored) != 1 {
				b.Fatalf("%d steps have the key of instance %d: %v", len(stored), i, err)
			}
			want := []string{"", "seven", "", "", ""}[i]
			if got := stored[0].Options.Instance; got != want {
				b.Errorf("instance %d is stored as %q", i, got)
			}
		}
	})
}
