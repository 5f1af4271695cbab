package worker

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

type (
	stateV1 struct{ Name string }
	stateV2 struct{ First, Last string }
)

var (
	oldState = agent.DefineState[stateV1](1)
	newState = agent.DefineState[stateV2](2, agent.Migrate(1, func(old stateV1) (stateV2, error) {
		first, last, _ := strings.Cut(old.Name, " ")
		return stateV2{first, last}, nil
	}))
)

// versioned returns an agent that loads its state with `states`. If no state is stored, the agent
// begins with `first`. It saves the state, waits for the signal "go", and returns say(state).
func versioned[T any](states agent.Versioned[T], first T, say func(T) string) func(agent.Context) (string, error) {
	return func(ctx agent.Context) (string, error) {
		st, known, err := states.Load(ctx)
		if err != nil {
			return "", err
		}
		if !known {
			st = first
		}
		if err := states.Save(ctx, st, agent.WithNext()); err != nil {
			return "", err
		}
		if _, err := ctx.WaitSignal("go", 0); err != nil {
			return "", err
		}
		return say(st), nil
	}
}

func asOld(ctx agent.Context) (string, error) {
	return versioned(oldState, stateV1{"Ada Lovelace"}, func(st stateV1) string { return st.Name })(ctx)
}

func asNew(ctx agent.Context) (string, error) {
	return versioned(newState, stateV2{"Ada", "Lovelace"}, func(st stateV2) string { return st.Last })(ctx)
}

// TestOldStateIsMigrated checks that a worker with a newer version of the agent's state converts
// the state of an old checkpoint with the migration of the agent's author. The stored checkpoint
// contains exactly the JSON of the author's type for the state, without additions.
func TestOldStateIsMigrated(t *testing.T) {
	eachWay(t, time.Minute, func(b *bench, way func(*Config)) {
		b.agent("a", asOld)
		w := b.work(way)
		id := b.start("a")
		b.waiting(id, "signal")
		w.stop()
		c, err := b.s.Checkpoint(b.Context(), id, 0)
		if err != nil || string(c.State) != `{"Name":"Ada Lovelace"}` || c.StateVersion() != 1 {
			b.Fatalf("the checkpoint is %s, version %d (%v)", c.State, c.StateVersion(), err)
		}
		b.agents = nil
		b.agent("a", asNew)
		b.work(way)
		b.signal(id, "go", "1")
		b.output(id, "Lovelace")
	})
}

// TestNewerStateWaitsForANewerWorker checks that a worker releases an execution whose state is
// newer than the worker's version of the agent, and that a worker with the newer agent then
// completes the execution.
func TestNewerStateWaitsForANewerWorker(t *testing.T) {
	b := newBench(t, time.Minute)
	b.agent("a", asNew)
	w := b.work()
	id := b.start("a")
	b.waiting(id, "signal")
	w.stop()
	b.signal(id, "go", "1")
	newer := b.agents
	b.agents = nil
	b.agent("a", asOld)
	old := b.work()
	eventually(t, "it to be given back", func() bool { return b.execution(id).Unfit > 0 })
	old.stop()
	b.agents = newer
	b.work()
	b.ahead.Add(int64(time.Hour)) // more than any backoff
	b.output(id, "Lovelace")
}

// TestNewerStateIsRefused checks an execution whose state is newer than the agent of the only
// worker. The execution fails after several releases, and the error names both versions.
func TestNewerStateIsRefused(t *testing.T) {
	b := newBench(t, time.Minute)
	b.agent("a", asNew)
	w := b.work()
	id := b.start("a")
	b.waiting(id, "signal")
	w.stop()
	b.signal(id, "go", "1")
	b.agents = nil
	b.agent("a", asOld)
	b.work(func(c *Config) { c.PollWait = 10 * time.Millisecond })
	for crashes := 1; crashes <= 9; crashes++ {
		eventually(t, "it to be given back", func() bool { return b.execution(id).Unfit >= 2*crashes })
		b.ahead.Add(int64(2 * time.Minute))
	}
	x := b.ended(id, perdure.StatusFailed)
	if !strings.Contains(*x.Error, "version 2") || !strings.Contains(*x.Error, "up to 1") {
		t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
	}
}
