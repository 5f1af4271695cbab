package worker

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
	"github.com/perdure/perdure/internal/longtest"
)

// TestDrainTakesAll checks that DrainSignals returns 1300 pending signals in the order in which
// they were sent.
func TestDrainTakesAll(t *testing.T) {
	longtest.Skip(t, "seconds")
	const many = 1300 // more than a claim, a reply or a commit contains
	eachWay(t, time.Minute, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			drained, err := ctx.DrainSignals("m.*")
			if err != nil {
				return "", err
			}
			for i, s := range drained[1:] {
				if s.Order <= drained[i].Order {
					return "", fmt.Errorf("signal %d has the order %d, the one before it %d", i+1, s.Order, drained[i].Order)
				}
			}
			return fmt.Sprint(len(drained)), nil
		}, "m.x", "other")
		b.known("a")
		id := b.start("a")
		var senders sync.WaitGroup
		for n := range 50 {
			senders.Go(func() {
				for range many / 50 {
					b.signal(id, []string{"m.x", "m.y"}[n%2], fmt.Sprint(n))
				}
			})
		}
		senders.Wait()
		b.signal(id, "go", "1")
		b.work(way)
		b.output(id, fmt.Sprint(many))
	})
}

// TestSeveralSignalsOfOneName checks that each of three waits takes one of three pending signals of
// a name, in order.
func TestSeveralSignalsOfOneName(t *testing.T) {
	eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			var said []string
			for range 3 {
				s, err := ctx.WaitSignal("m", time.Hour)
				if err != nil {
					return "", err
				}
				said = append(said, string(s.Value))
				if err := ctx.Sleep(time.Millisecond); err != nil {
					return "", err
				}
			}
			return fmt.Sprint(said), nil
		})
		b.known("a")
		id := b.start("a")
		for i := range 3 {
			b.signal(id, "m", fmt.Sprint(i))
		}
		b.work(way)
		b.output(id, "[0 1 2]")
	})
}

func TestSignalPatterns(t *testing.T) {
	eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			if _, err := ctx.WaitSignal("go", 0); err != nil {
				return "", err
			}
			one, err := ctx.WaitSignal("a.*", 0)
			if err != nil {
				return "", err
			}
			more, err := ctx.WaitSignal("a.**", 0)
			if err != nil {
				return "", err
			}
			has, err := ctx.HasSignal("*.c")
			if err != nil {
				return "", err
			}
			var names []string
			rest, err := ctx.DrainSignals("**")
			for _, s := range rest {
				names = append(names, s.Name)
			}
			if _, err := ctx.DrainSignals("a..b"); !perdure.IsCode(err, perdure.InvalidArgument) {
				return "", fmt.Errorf("a malformed pattern gave %w", err)
			}
			return fmt.Sprint(one.Name, more.Name, has, names), err
		})
		b.known("a")
		id := b.start("a")
		for _, name := range []string{"a", "a.b.c", "a.b", "a.d", "go"} {
			b.signal(id, name, "1")
		}
		b.work(way)
		b.output(id, "a.ba.b.cfalse [a a.d]")
	})
}

// TestSignalTakenAfterACheckpointThatWaits checks that a delayed checkpoint, which is committed
// later, does not consume a signal that is taken after the call of Checkpoint. A function that is
// entered again receives the signal again.
func TestSignalTakenAfterACheckpointThatWaits(t *testing.T) {
	for name, take := range map[string]func(agent.Context) (perdure.Signal, error){
		"wait": func(ctx agent.Context) (perdure.Signal, error) { return ctx.WaitSignal("m", 0) },
		"any": func(ctx agent.Context) (perdure.Signal, error) {
			m, err := ctx.WaitAny(0, agent.OnSignal("m"))
			return m.Signal(), err
		},
		"drain": func(ctx agent.Context) (perdure.Signal, error) {
			all, err := ctx.DrainSignals("m")
			if len(all) != 1 {
				return perdure.Signal{}, errors.Join(err, fmt.Errorf("%d signals", len(all)))
			}
			return all[0], err
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
				b.agent("a", func(ctx agent.Context) (string, error) {
					if err := ctx.Checkpoint("state", agent.WithNext()); err != nil {
						return "", err
					}
					s, err := take(ctx)
					if err != nil {
						return "", err
					}
					_, err = ctx.WaitSignal("go", 0)
					return string(s.Value), err
				})
				b.known("a")
				id := b.start("a")
				b.signal(id, "m", "7")
				w := b.work(way)
				b.waiting(id, "signal")
				w.stop()
				b.work(way)
				b.signal(id, "go", "1")
				b.output(id, "7")
			})
		})
	}
}

// TestSleepIsTheStoresTime checks that the store's clock decides when a sleep ends, even if the
// clocks of the workers are 7 hours behind. A sleep that has begun does not begin again on another
// worker.
func TestSleepIsTheStoresTime(t *testing.T) {
	longtest.Skip(t, "seconds")
	eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.ahead.Store(int64(7 * time.Hour)) // so the clock of the workers is 7 hours behind
		b.agent("a", func(ctx agent.Context) (string, error) {
			for range 2 {
				if err := ctx.Sleep(time.Hour); err != nil {
					return "", err
				}
			}
			_, err := ctx.WaitSignal("never", time.Hour)
			return fmt.Sprint(errors.Is(err, agent.ErrTimeout)), nil
		})
		w := b.work(way)
		id := b.start("a")
		for range 3 {
			x := b.waiting(id, []string{"timer", "signal"}[b.count(id, perdure.EventWaiting)/3])
			first := dueOf(x)
			if left := first.Sub(b.s.Now().Time); left > time.Hour || left < 55*time.Minute {
				b.Fatalf("an hour has %s left", left)
			}
			w.stop()
			w = b.work(way)
			waits := b.count(id, perdure.EventWaiting)
			b.ahead.Add(int64(time.Hour)) // lets an hour pass at once
			b.until(id, "the next wait", func(x *perdure.Execution) bool {
				return x.Status.Terminal() || x.Status == perdure.StatusWaiting && b.count(id, perdure.EventWaiting) > waits
			})
		}
		b.output(id, "true")
		if n := b.count(id, perdure.EventWaiting); n != 3 {
			b.Errorf("it waited %d times, want 3", n)
		}
	})
}

// TestWaitsAreCountedFromTheCheckpoint checks that waits are numbered from the call of Checkpoint,
// even if the checkpoint is delayed and committed later. A sleep after that call has the same due
// time when the function is entered again.
func TestWaitsAreCountedFromTheCheckpoint(t *testing.T) {
	longtest.Skip(t, "seconds")
	eachWay(t, 20*time.Second, func(b *bench, way func(*Config)) {
		b.agent("a", func(ctx agent.Context) (string, error) {
			var phase int
			if _, err := ctx.State(&phase); err != nil {
				return "", err
			}
			for ; phase < 2; phase++ {
				if err := ctx.Sleep(time.Millisecond); err != nil {
					return "", err
				}
				if err := ctx.Checkpoint(phase+1, agent.WithNext()); err != nil {
					return "", err
				}
			}
			return "fine", ctx.Sleep(time.Hour)
		})
		w := b.work(way)
		id := b.start("a")
		long := func(x *perdure.Execution) bool {
			return x.Status == perdure.StatusWaiting && x.CheckpointSeq == 2
		}
		first := dueOf(b.until(id, "the long sleep", long))
		w.stop()
		b.work(way)
		b.signal(id, "wakes.nothing", "1")
		b.ahead.Add(int64(30 * time.Minute))
		if again := dueOf(b.until(id, "the long sleep", long)); !again.Equal(first.Time) {
			b.Errorf("the sleep is due at %s, then at %s", first, again)
		}
		asked := b.execution(id).RecordedWaits
		if len(asked.Dues) != 1 || len(asked.Outcomes) > 0 {
			b.Errorf("kept of the waits since the checkpoint: %+v", asked)
		}
		b.ahead.Add(int64(time.Hour))
		b.output(id, "fine")
	})
}
