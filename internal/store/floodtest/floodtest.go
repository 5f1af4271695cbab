// Package floodtest checks that the data and the waiting work of one org do not add costs for other
// orgs of a store. It counts the rows that the store examines, or the steps of the database, and
// measures no times.
package floodtest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
)

// Flooded is the number of executions that one org, the hostile one, starts. It is also the number
// of signals that this org sends to one execution.
const Flooded = 1500

// Visit opens the store and calls the function `use` with it. The result `looked` is a measure of
// how much data the store has examined during that call: a number of rows, or of steps of the
// database.
type Visit func(use func(s store.Store)) (looked int)

// Limits are the limits of [Run], in the unit that the [Visit] counts. A day of the quiet org is a
// fixed series of calls, see guest.day.
type Limits struct {
	// Day is the minimum cost of a day of the quiet org. A lower count means that counting does not
	// work.
	Day int
	// Command is the maximum average cost of a command of the flood.
	Command int
	// Added is the maximum increase of the cost of a day of the quiet org, from before the flood to
	// after it. 0 means Flooded/20, because each day costs a little more as the quiet org's own
	// data grows. An increase by a quarter of the cost before the flood is always allowed.
	Added int
}

// Run compares what a day of a quiet org costs before and after another org has flooded the store.
// It also checks the cost of the flood itself, whose signals all go to one execution: a signal must
// not cost more if its execution has many signals.
func Run(t *testing.T, visit Visit, limits Limits) {
	if limits.Added == 0 {
		limits.Added = Flooded / 20
	}
	days := func(s store.Store) {
		quiet := newGuest(t, s, "quiet")
		quiet.register()
		quiet.day()
	}
	visit(days) // this visit compiles statements and fills caches
	alone := visit(days)
	flood := visit(func(s store.Store) {
		hostile := newGuest(t, s, "hostile")
		hostile.register()
		hostile.flood()
	})
	visit(days)
	beside := visit(days)
	if each := flood / (2 * Flooded); each > limits.Command {
		t.Errorf("each command of a flood looks at %d, want at most %d", each, limits.Command)
	}
	if alone < limits.Day {
		t.Fatalf("only %d were counted", alone)
	}
	if beside > alone+max(alone/4, limits.Added) {
		t.Errorf("a day of a quiet org looks at %d beside a flood of another, at %d without", beside, alone)
	}
	t.Logf("a day looks at %d alone, at %d beside %d executions of another org; each command of these at %d", alone, beside, Flooded, flood/(2*Flooded))
}

// guest calls the engine and the store like a worker and clients of one org.
type guest struct {
	*testing.T
	e   *engine.Engine
	s   store.Store
	org string
}

func newGuest(t *testing.T, s store.Store, org string) guest {
	return guest{T: t, e: engine.New(engine.Config{Store: s, Tick: time.Hour}), s: s, org: org}
}

func (g guest) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g guest) worker() perdure.Dispatch { return g.e.Dispatch(g.org, false) }

func (g guest) register() {
	_, err := g.worker().Register(g.Context(), perdure.Registration{WorkerID: uuid.New(), Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}})
	g.must(err)
}

func (g guest) start(input string) *perdure.Execution {
	x, err := g.e.Start(g.Context(), g.org, engine.StartRequest{Kind: "agent", Input: json.RawMessage(input)})
	g.must(err)
	return x
}

// day calls the engine as on one day: it starts an execution, sends it a signal, reads it, lists
// the executions, claims the execution, commits a step, releases the claim and cancels the
// execution.
func (g guest) day() {
	x := g.start(`{"a":1}`)
	g.signal(x.ID, "s1")
	_, err := g.s.Execution(g.Context(), g.org, x.ID)
	g.must(err)
	_, err = g.s.PendingSignals(g.Context(), x.ID, nil, 0, 10)
	g.must(err)
	_, err = g.s.LogHead(g.Context(), x.ID)
	g.must(err)
	g.list()
	worker := uuid.New()
	claims, err := g.worker().PollAgents(g.Context(), perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1})
	g.must(err)
	if len(claims) != 1 || claims[0].Execution.ID != x.ID {
		g.Fatalf("%s claimed %+v, want the execution %s", g.org, claims, x.ID)
	}
	lease := claims[0].Lease
	_, err = g.worker().Commit(g.Context(), perdure.Commit{Lease: lease, Number: 1, Steps: []perdure.StepRecord{{Name: "s", Key: perdure.StepKey(x.ID, "s", ""), Result: perdure.Payload{Bytes: json.RawMessage(`1`)}}}})
	g.must(err)
	_, err = g.worker().Heartbeat(g.Context(), perdure.Heartbeat{WorkerID: worker})
	g.must(err)
	g.must(g.worker().Release(g.Context(), perdure.Release{WorkerID: worker, Agents: []perdure.AgentRelease{{Lease: lease}}}))
	_, _, err = g.e.Cancel(g.Context(), g.org, x.ID)
	g.must(err)
}

func (g guest) signal(id uuid.UUID, signal string) {
	_, err := g.e.Signal(g.Context(), g.org, id, engine.SignalRequest{Name: "s", Value: json.RawMessage(`1`), ID: signal})
	g.must(err)
}

func (g guest) list() {
	for _, f := range []store.ExecutionFilter{{Limit: 20}, {Limit: 20, Status: []perdure.Status{perdure.StatusPending}}, {Limit: 20, Kind: "agent"}, {Limit: 20, Query: "nothing"}, {Limit: 20, Metadata: map[string]string{"n": "nothing"}}} {
		_, err := g.s.Executions(g.Context(), g.org, f)
		g.must(err)
	}
	_, err := g.s.Kinds(g.Context(), g.org)
	g.must(err)
}

// flood starts executions that nobody claims, and sends signals that nobody takes.
func (g guest) flood() {
	target := g.start(`{}`)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			for range Flooded / 50 {
				id := uuid.NewString()
				_, err := g.e.Start(context.WithoutCancel(g.Context()), g.org, engine.StartRequest{
					Kind: "agent", Input: json.RawMessage(fmt.Sprintf(`{"a":%q}`, id)), Metadata: json.RawMessage(fmt.Sprintf(`{"n":%q}`, id)),
				})
				if err == nil {
					_, err = g.e.Signal(context.WithoutCancel(g.Context()), g.org, target.ID, engine.SignalRequest{Name: "s", Value: json.RawMessage(`1`), ID: id})
				}
				if err != nil {
					g.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}
