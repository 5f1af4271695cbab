package worker

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

func sayMet(m agent.WaitResult, err error) string {
	if err != nil {
		return fmt.Sprintf("%d %v", m.Index, errors.Is(err, agent.ErrTimeout))
	}
	said := fmt.Sprint(m.Index)
	for _, s := range m.Signals {
		said += " " + s.Name + "=" + string(s.Value)
	}
	for _, r := range m.Tasks {
		said += " ended:" + fmt.Sprint(r.Ended())
	}
	return said
}

// TestWaitAny checks that a wait for signals, tasks, timers and combinations of them returns the
// index of the condition that was met, and the tasks and signals of that condition. The wait takes
// these signals.
func TestWaitAny(t *testing.T) {
	for name, test := range map[string]struct {
		want func(ctx agent.Context) []agent.Condition
		do   func(b *bench, release func(int)) (signals []string)
		met  string
	}{
		"a signal": {
			func(ctx agent.Context) []agent.Condition {
				return []agent.Condition{agent.OnTimer(time.Hour), agent.OnSignal("s.*"), agent.OnTask(ctx.Schedule("held", 1))}
			},
			func(*bench, func(int)) []string { return []string{"other", "s.x"} }, "1 s.x=1",
		},
		"a task": {
			func(ctx agent.Context) []agent.Condition {
				return []agent.Condition{agent.OnTimer(time.Hour), agent.OnSignal("s.*"), agent.OnTask(ctx.Schedule("held", 1))}
			},
			func(_ *bench, release func(int)) []string { release(1); return nil }, "2 ended:true",
		},
		"a timer": {
			func(ctx agent.Context) []agent.Condition {
				return []agent.Condition{agent.OnSignal("s"), agent.OnTimer(time.Millisecond)}
			}, nil, "1",
		},
		"a failed task": {
			func(ctx agent.Context) []agent.Condition {
				return []agent.Condition{agent.OnSignal("s"), agent.OnTask(ctx.Schedule("fail", 1))}
			}, nil, "1 ended:true",
		},
		"all of two": {
			func(ctx agent.Context) []agent.Condition {
				return []agent.Condition{
					agent.OnSignal("never"),
					agent.OnAll(agent.OnTask(ctx.Schedule("double", 1)), agent.OnAny(agent.OnSignal("never"), agent.OnSignal("s")), agent.OnTimer(time.Millisecond)),
				}
			},
			func(*bench, func(int)) []string { return []string{"s"} }, "1 s=1 ended:true",
		},
		"nothing of all": {
			func(agent.Context) []agent.Condition {
				return []agent.Condition{agent.OnSignal("never"), agent.OnAll()}
			}, nil, "1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
				release := defineTasks(b)
				b.agent("a", func(ctx agent.Context) (string, error) {
					said := sayMet(ctx.WaitAny(0, test.want(ctx)...))
					// The wait took the signal that met it. No other signal matches the pattern.
					if has, err := ctx.HasSignal("s.**"); err != nil || has {
						return "", fmt.Errorf("a signal is left: %v, %w", has, err)
					}
					if _, err := ctx.WaitSignal("end", 0); err != nil {
						return "", err
					}
					return said, nil
				})
				b.work(way)
				id := b.start("a")
				b.until(id, "it to wait", func(x *perdure.Execution) bool { return x.Status == perdure.StatusWaiting })
				if test.do != nil {
					for _, name := range test.do(b, release) {
						b.signal(id, name, "1")
					}
				}
				b.signal(id, "end", "1")
				b.output(id, test.met)
			})
		})
	}
}

// TestWaitAnyThatIsMetAlready checks that WaitAny returns the first condition if several are met
// already, and does not suspend the execution.
func TestWaitAnyThatIsMetAlready(t *testing.T) {
	eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		defineTasks(b)
		b.known("a")
		b.agent("a", func(ctx agent.Context) (string, error) {
			f := ctx.Schedule("double", 4)
			if _, err := agent.Await[int](ctx, f); err != nil {
				return "", err
			}
			first := sayMet(ctx.WaitAny(time.Hour, agent.OnSignal("never"), agent.OnTask(f), agent.OnSignal("s")))
			// The first condition is a timer. Only the server decides whether a timer has ended.
			second := sayMet(ctx.WaitAny(time.Hour, agent.OnTimer(0), agent.OnTask(f), agent.OnSignal("s")))
			m, err := ctx.WaitAny(time.Hour, agent.OnTask(f))
			if err != nil {
				return "", err
			}
			n, err := agent.ValueOf[int](m, 0)
			return fmt.Sprintf("%s, %s, %d", first, second, n), err
		})
		id := b.start("a")
		b.signal(id, "s", "1")
		b.work(way)
		b.output(id, "1 ended:true, 0, 8")
		if n := b.count(id, perdure.EventWaiting); n > 1 {
			b.Errorf("it waited %d times", n)
		}
	})
}

func TestWaitAnyTimesOut(t *testing.T) {
	eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			said := sayMet(ctx.WaitAny(time.Millisecond, agent.OnSignal("late"), agent.OnTimer(time.Hour)))
			// The outcome of this wait, a timeout, is recorded. When the function is entered again,
			// WaitAny returns the timeout again, although the signal "late" has arrived by then.
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			s, err := ctx.WaitSignal("late", 0)
			return said + " " + string(s.Value), err
		})
		b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		b.until(id, "it to wait for the second", func(x *perdure.Execution) bool {
			return x.Status == perdure.StatusWaiting && x.Wait.Signals()[0] == "go"
		})
		b.signal(id, "late", "7")
		b.signal(id, "go", "1")
		b.output(id, "-1 true 7")
	})
}

func TestConditionsThatAreWrong(t *testing.T) {
	b := newBench(t, 20*time.Second)
	failed := agent.FailedFuture("k", errors.New("no such task"))
	b.agent("a", func(ctx agent.Context) (string, error) {
		for name, conditions := range map[string][]agent.Condition{
			"none": nil, "an empty one": {{}}, "any of none": {agent.OnAny()}, "a pattern": {agent.OnSignal("a..b")},
			"a future": {agent.OnAll(agent.OnSignal("s"), agent.OnTask(failed))},
		} {
			if _, err := ctx.WaitAny(0, conditions...); err == nil {
				return "", fmt.Errorf("%s was taken", name)
			}
		}
		return "fine", nil
	})
	b.work()
	b.output(b.start("a"), "fine")
}
