package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/engine"
)

// TestPendingSignalPreventsTheEnd checks that a signal that arrives just before the execution would
// end makes the worker enter the function again. The function again receives the signals since the
// checkpoint. The step and the wait do not run again, and OnEnd runs once.
func TestPendingSignalPreventsTheEnd(t *testing.T) {
	t.Run("in the first claim", func(t *testing.T) { pendingSignalPreventsTheEnd(t, 0) })
	t.Run("after a wait", func(t *testing.T) { pendingSignalPreventsTheEnd(t, 200*time.Millisecond) })
}

func pendingSignalPreventsTheEnd(t *testing.T, pause time.Duration) {
	b := newBench(t, 5*time.Second)
	var entered, steps atomic.Int32
	ends := make(chan struct{}, 8)
	id := make(chan uuid.UUID, 1)
	b.agent("a", func(ctx agent.Context) (string, error) {
		n := entered.Add(1)
		ctx.OnEnd(func(perdure.Status) { ends <- struct{}{} })
		if _, err := agent.Step(ctx, "step", func(context.Context) (int, error) { steps.Add(1); return 1, nil }); err != nil {
			return "", err
		}
		if err := ctx.Sleep(pause); err != nil {
			return "", err
		}
		if _, err := ctx.WaitSignal("m", 0); err != nil {
			return "", err
		}
		more, err := ctx.DrainSignals("m")
		if err != nil {
			return "", err
		}
		if n == 1 { // the function does not see this signal, which follows DrainSignals
			b.signal(<-id, "m", `"late"`)
		}
		var values []string
		for _, s := range more {
			values = append(values, string(s.Value))
		}
		return strings.Join(values, ","), nil
	}, "m")
	b.known("a")
	x := b.start("a")
	id <- x
	b.signal(x, "m", `"first"`)
	b.work()
	b.output(x, `"late"`)
	<-ends // OnEnd runs shortly after the status is visible
	if entered.Load() != 2 || steps.Load() != 1 || len(ends) != 0 {
		t.Errorf("entered %d times, %d steps, %d more ends", entered.Load(), steps.Load(), len(ends))
	}
	if n := b.count(x, perdure.EventWaiting); n > 1 {
		t.Errorf("it waited %d times; the sleep was slept anew", n)
	}
}

// TestSignalsGivenAgainSurviveAWait checks a function that is entered again. After it has waited
// for another signal, it still receives the signals that it had taken before it was entered again.
func TestSignalsGivenAgainSurviveAWait(t *testing.T) {
	for _, n := range []int{100, -1} {
		b := newBench(t, 5*time.Second)
		b.agent("a", func(ctx agent.Context) (string, error) {
			var said []string
			take := func(name string) error {
				s, err := ctx.WaitSignal(name, 0)
				said = append(said, string(s.Value))
				return err
			}
			// When it is entered again, the function requests the signals in another order than at
			// first.
			if has, err := ctx.HasSignal("go"); err != nil {
				return "", err
			} else if has {
				if err := take("third"); err != nil {
					return "", err
				}
			}
			for _, name := range []string{"first", "second", "go"} {
				if err := take(name); err != nil {
					return "", err
				}
			}
			return strings.Join(said, ""), nil
		})
		w := b.work(func(c *Config) { c.Parked = n })
		id := b.start("a")
		b.signal(id, "first", "1")
		b.signal(id, "second", "2")
		b.waiting(id, "signal")
		w.stop() // both signals are taken; the function that is entered again receives them again
		b.signal(id, "go", "0")
		b.work(func(c *Config) { c.Parked = n })
		b.waiting(id, "signal")
		b.signal(id, "third", "3")
		b.output(id, "3120")
	}
}

// TestMoreSignalsThanAClaimCarries checks that a function receives all of 232 pending signals,
// those of each name in order, although a claim contains only some of them.
func TestMoreSignalsThanAClaimCarries(t *testing.T) {
	b := newBench(t, 20*time.Second)
	const many = 230
	b.agent("a", func(ctx agent.Context) (string, error) {
		s, err := ctx.WaitSignal("needle", time.Hour)
		if err != nil {
			return "", err
		}
		if _, err := ctx.WaitSignal("pin", 0); err != nil {
			return "", err
		}
		if err := ctx.Flush(); err != nil {
			return "", err
		}
		for i := range many {
			s, err := ctx.WaitSignal("hay", 0)
			if err != nil || string(s.Value) != fmt.Sprint(i) {
				return "", fmt.Errorf("hay %d is %s: %w", i, s.Value, err)
			}
		}
		return string(s.Value), nil
	})
	b.work()
	id := b.start("a")
	b.waiting(id, "signal")
	for i := range many {
		b.signal(id, "hay", fmt.Sprint(i))
	}
	b.signal(id, "needle", `1`)
	b.signal(id, "pin", `1`)
	b.output(id, "1")
}

// TestWaitsCountFromTheFirstTime checks that a function that is entered again does not repeat a
// sleep that has ended. A wait with a timeout has the same due time as before.
func TestWaitsCountFromTheFirstTime(t *testing.T) {
	for _, n := range []int{100, -1} {
		b := newBench(t, 5*time.Second)
		var entered atomic.Int32
		b.agent("a", func(ctx agent.Context) (string, error) {
			entered.Add(1)
			if err := ctx.Sleep(30 * time.Millisecond); err != nil {
				return "", err
			}
			s, err := ctx.WaitSignal("stop", time.Hour)
			return string(s.Value), err
		})
		w := b.work(func(c *Config) { c.Parked = n })
		id := b.start("a")
		first := dueOf(b.waiting(id, "signal"))
		w.stop()
		b.work(func(c *Config) { c.Parked = n })
		if again := dueOf(b.waiting(id, "signal")); !again.Equal(first.Time) {
			t.Errorf("the wait is due at %s, then at %s", first, again)
		}
		b.signal(id, "stop", `"fine"`)
		b.output(id, `"fine"`)
		// Without parked goroutines, the function is entered again at the end of the sleep and
		// after the signal.
		if got, want := entered.Load(), map[int]int32{100: 2, -1: 3}[n]; got != want {
			t.Errorf("with %d goroutines kept it was entered %d times, want %d", n, got, want)
		}
	}
}

func dueOf(x *perdure.Execution) perdure.Time {
	due, _ := x.Wait.NextTimer()
	return due
}

func TestTimeout(t *testing.T) {
	for _, n := range []int{100, -1} {
		b := newBench(t, 5*time.Second)
		b.agent("a", func(ctx agent.Context) (string, error) {
			_, err := ctx.WaitSignal("never", 20*time.Millisecond)
			if !errors.Is(err, agent.ErrTimeout) {
				return "", fmt.Errorf("the wait gave %w", err)
			}
			s, err := ctx.WaitSignal("there", time.Hour)
			return string(s.Value), err
		})
		b.work(func(c *Config) { c.Parked = n })
		id := b.start("a")
		b.signal(id, "there", "1")
		b.output(id, "1")
	}
}

// TestSignalsInOrder checks that an agent receives ten signals in the order in which they were
// sent.
func TestSignalsInOrder(t *testing.T) {
	for _, n := range []int{100, -1} {
		b := newBench(t, 5*time.Second)
		b.agent("a", func(ctx agent.Context) (string, error) {
			for range 10 {
				s, err := ctx.WaitSignal("m", 0)
				if err != nil {
					return "", err
				}
				if _, err := ctx.Append(user(string(s.Value)), agent.WithKey(s.EntryKey())); err != nil {
					return "", err
				}
			}
			return "fine", nil
		})
		b.work(func(c *Config) { c.Parked = n })
		id := b.start("a")
		var want []string
		for i := range 10 {
			if _, err := b.e.Signal(t.Context(), org, id, engine.SignalRequest{Name: "m", Value: []byte(fmt.Sprint(i))}); err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint(i))
		}
		b.output(id, "fine")
		if texts := b.texts(id); !slices.Equal(texts, want) {
			t.Errorf("parked %d: the texts are %q", n, texts)
		}
	}
}
