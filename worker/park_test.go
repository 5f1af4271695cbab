package worker

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestParkingIsBoundedByBytes checks that a worker discards the goroutine that was parked first
// when the state, entries or results of three goroutines exceed ParkedBytes. All executions
// complete.
func TestParkingIsBoundedByBytes(t *testing.T) {
	for what, fill := range map[string]func(agent.Context) error{
		"state": func(ctx agent.Context) error { return ctx.Checkpoint(strings.Repeat("s", 100<<10)) },
		"entries": func(ctx agent.Context) error {
			_, err := ctx.Append(user(strings.Repeat("e", 100<<10)), agent.WithKey("e"))
			return err
		},
		"results": func(ctx agent.Context) error {
			_, err := agent.Step(ctx, "s", func(context.Context) (string, error) { return strings.Repeat("r", 100<<10), nil })
			return err
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t, time.Minute)
			discarded := make(chan uuid.UUID, 9)
			b.agent("a", func(ctx agent.Context) (string, error) {
				defer func() {
					if errors.Is(context.Cause(ctx), agent.ErrDiscarded) {
						discarded <- ctx.ID()
					}
				}()
				if known, err := ctx.State(new(any)); !known && err == nil {
					if err := fill(ctx); err != nil {
						return "", err
					}
				}
				_, err := ctx.WaitSignal("go", 0)
				return "fine", err
			})
			w := b.work(func(c *Config) { c.ParkedBytes = 250 << 10 })
			var ids []uuid.UUID
			for range 3 {
				id := b.start("a")
				ids = append(ids, id)
				b.waiting(id, "signal")
				w.parkedNow(t, id)
			}
			if got := wait(t, "a discard", discarded); got != ids[0] {
				t.Errorf("%s was discarded, want the oldest", got)
			}
			w.mu.Lock()
			if len(w.parked) != 2 || w.parkedBytes > 250<<10 || w.parkedBytes < 200<<10 {
				t.Errorf("%d are parked with %d bytes", len(w.parked), w.parkedBytes)
			}
			w.mu.Unlock()
			for _, id := range ids {
				b.signal(id, "go", "1")
				b.output(id, "fine")
			}
			w.stop()
			if w.parkedBytes != 0 {
				t.Errorf("%d bytes are counted of nothing", w.parkedBytes)
			}
		})
	}
}

// TestDiscardLeavesNoTrace checks a discarded goroutine. The cause of its context is ErrDiscarded,
// and nothing that its deferred function requests or returns is stored. OnEnd functions run only at
// the end of the execution.
func TestDiscardLeavesNoTrace(t *testing.T) {
	b := newBench(t, time.Minute)
	var deferred, ends atomic.Int32
	causes := make(chan error, 9)
	b.agent("a", func(ctx agent.Context) (out string, err error) {
		ctx.OnEnd(func(perdure.Status) { ends.Add(1) })
		defer func() {
			if cause := context.Cause(ctx); cause != nil {
				deferred.Add(1)
				causes <- cause
				_, _ = ctx.Append(user("ghost"))
				_ = ctx.Emit("ghost")
				ctx.Schedule("ghost", 1)
				out, err = "ghost", errors.New("ghost")
				_ = ctx.Flush() // this call ends the goroutine
				_, _ = ctx.Append(user("never reached"))
			}
		}()
		_, err = ctx.WaitSignal("go", 0)
		return "fine", err
	})
	b.work(func(c *Config) { c.Parked = -1 })
	id := b.start("a")
	b.waiting(id, "signal")
	if cause := wait(t, "the discard", causes); !errors.Is(cause, agent.ErrDiscarded) {
		t.Errorf("the cause is %v", cause)
	}
	b.signal(id, "go", "1")
	b.output(id, "fine")
	if n := b.count(id, perdure.EventEntry) + b.count(id, perdure.EventData) + b.count(id, perdure.EventTaskScheduled); n != 0 {
		t.Errorf("%d things of a discarded goroutine are stored", n)
	}
	eventually(t, "OnEnd", func() bool { return ends.Load() == 1 })
	if deferred.Load() != 1 {
		t.Errorf("deferred functions ran %d times at discards, want 1", deferred.Load())
	}
}

// TestEntryAppendedTwiceIsReported checks a function that, when it is entered again, appends an
// entry without a key for the second time. The worker reports the entry once. It does not report an
// entry with a key, or an entry before a checkpoint.
func TestEntryAppendedTwiceIsReported(t *testing.T) {
	b := newBench(t, time.Minute)
	b.agent("a", func(ctx agent.Context) (string, error) {
		var phase int
		if _, err := ctx.State(&phase); err != nil {
			return "", err
		}
		if phase == 0 {
			if _, err := ctx.Append(user("before")); err != nil {
				return "", err
			}
			if err := ctx.Checkpoint(1); err != nil {
				return "", err
			}
		}
		if _, err := ctx.Append(user("keyed"), agent.WithKey("k")); err != nil {
			return "", err
		}
		if _, err := ctx.Append(user("twice")); err != nil {
			return "", err
		}
		if err := ctx.Sleep(time.Millisecond); err != nil {
			return "", err
		}
		_, err := ctx.Append(user("once")) // the last commit stores it, so the function does not repeat it
		return "fine", err
	})
	reports := make(chan string, 9)
	b.work(func(c *Config) { c.Parked, c.Report = -1, func(what string) { reports <- what } })
	id := b.start("a")
	b.output(id, "fine")
	got := wait(t, "the report", reports)
	if !strings.Contains(got, id.String()) || !strings.Contains(got, "WithKey") {
		t.Errorf("the report is %q", got)
	}
	if len(reports) != 0 {
		t.Errorf("another report: %q", <-reports)
	}
}

// TestKeyedAppendGivesTheStoredEntry checks a function that, when it is entered again, appends an
// entry with the same key as before. The function receives the id of the stored entry, and the next
// entry is a child of the stored one.
func TestKeyedAppendGivesTheStoredEntry(t *testing.T) {
	b := newBench(t, time.Minute)
	seen := make(chan uuid.UUID, 9)
	b.agent("a", func(ctx agent.Context) (string, error) {
		id, err := ctx.Append(user("one"), agent.WithKey("one"))
		if err != nil {
			return "", err
		}
		seen <- id
		if err := ctx.Sleep(time.Millisecond); err != nil {
			return "", err
		}
		_, err = ctx.Append(user("two"), agent.WithKey("two"))
		return "fine", err
	})
	b.work(func(c *Config) { c.Parked = -1 })
	id := b.start("a")
	b.output(id, "fine")
	if first, again := <-seen, <-seen; first != again {
		t.Errorf("the append gave %s, then %s", first, again)
	}
	if got, _ := json.Marshal(b.texts(id)); string(got) != `["one","two"]` {
		t.Errorf("the path says %s", got)
	}
}

// TestParkedGoroutineOfAnotherClaimIsNotContinued checks that a parked goroutine does not continue
// if the execution's last commit has a different claim id, as after a restore of the database. The
// function is entered again.
func TestParkedGoroutineOfAnotherClaimIsNotContinued(t *testing.T) {
	for name, change := range map[string]struct {
		id      func(uuid.UUID) uuid.UUID
		entered int32
	}{
		"the same claim":                 {func(id uuid.UUID) uuid.UUID { return id }, 1},
		"a server that does not tell it": {func(uuid.UUID) uuid.UUID { return uuid.Nil }, 1},
		"another claim":                  {func(uuid.UUID) uuid.UUID { return uuid.New() }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, time.Minute)
			var entered atomic.Int32
			b.agent("a", func(ctx agent.Context) (string, error) {
				entered.Add(1)
				_, err := ctx.WaitSignal("go", 0)
				return "fine", err
			})
			w := b.work(b.overFaulty(&faulty{onAgents: func(claims []perdure.AgentClaim) {
				for i := range claims {
					if last := &claims[i].LastCommit; last.Number > 0 {
						last.ClaimID = change.id(last.ClaimID)
					}
				}
			}}))
			id := b.start("a")
			b.waiting(id, "signal")
			w.parkedNow(t, id)
			b.signal(id, "go", "1")
			b.output(id, "fine")
			if n := entered.Load(); n != change.entered {
				t.Errorf("the function was entered %d times, want %d", n, change.entered)
			}
		})
	}
}
