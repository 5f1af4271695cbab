package sqlite

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
	lib "modernc.org/sqlite/lib"
)

// flooded is how many executions a hostile org has waiting.
const flooded = 1500

// What one org has stored, and has waiting, costs the others nothing: the same day of
// a quiet org takes as many steps of SQLite's programs as on a server of its own. The
// steps count the rows that are looked at; there is no clock in this.
func TestOneOrgsRowsCostOthersNothing(t *testing.T) {
	s := open(t, Options{})
	e := engine.New(engine.Config{Store: s, Tick: time.Hour})
	quiet := guest{T: t, e: e, s: s, org: "quiet"}
	quiet.register()
	quiet.day() // statements are compiled, caches filled
	alone := s.stepsOf(t, quiet.day)

	hostile := guest{T: t, e: e, s: s, org: "hostile"}
	hostile.register()
	hostile.flood()
	beside := s.stepsOf(t, quiet.day)
	if alone < 1000 {
		t.Fatalf("only %d steps were counted", alone)
	}
	if beside > alone+alone/4 {
		t.Errorf("a day of a quiet org takes %d steps beside %d executions of another, %d without", beside, flooded, alone)
	}
	t.Logf("%d steps alone, %d beside %d executions of another org", alone, beside, flooded)
}

// guest is an org with a worker and a client.
type guest struct {
	*testing.T
	e   *engine.Engine
	s   *Store
	org string
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

func (g guest) start() *perdure.Execution {
	x, err := g.e.Start(g.Context(), g.org, engine.StartRequest{Kind: "agent", Input: json.RawMessage(`{"a":1}`)})
	g.must(err)
	return x
}

// day is what an org does: it starts an execution, lists and reads it, claims it, keeps
// the claim, and cancels it.
func (g guest) day() {
	x := g.start()
	_, err := g.s.Execution(g.Context(), g.org, x.ID)
	g.must(err)
	g.list()
	worker := uuid.New()
	claims, err := g.worker().PollAgents(g.Context(), perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1})
	g.must(err)
	if len(claims) != 1 || claims[0].Execution.ID != x.ID {
		g.Fatalf("%s claimed %+v, want the execution %s", g.org, claims, x.ID)
	}
	g.must(g.worker().Release(g.Context(), perdure.Release{WorkerID: worker, Agents: []perdure.AgentRelease{{Lease: claims[0].Lease}}}))
	_, _, err = g.e.Cancel(g.Context(), g.org, x.ID)
	g.must(err)
}

func (g guest) list() {
	for _, f := range []store.ExecutionFilter{{Limit: 20}, {Limit: 20, Status: []perdure.Status{perdure.StatusPending}}, {Limit: 20, Kind: "agent"}, {Limit: 20, Query: "nothing"}} {
		_, err := g.s.Executions(g.Context(), g.org, f)
		g.must(err)
	}
	_, err := g.s.Kinds(g.Context(), g.org)
	g.must(err)
}

// flood starts executions that nobody claims.
func (g guest) flood() {
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			for range flooded / 50 {
				if _, err := g.e.Start(context.WithoutCancel(g.Context()), g.org, engine.StartRequest{Kind: "agent", Input: json.RawMessage(fmt.Sprintf(`{"a":%q}`, uuid.NewString()))}); err != nil {
					g.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// stepsOf returns how many steps the statements of all connections take while f runs.
func (s *Store) stepsOf(t *testing.T, f func()) int {
	t.Helper()
	before := s.steps()
	f()
	return s.steps() - before
}

func (s *Store) steps() int {
	total := 0
	for _, c := range append([]*conn{s.committer.conn}, s.pool.conns...) {
		for at := lib.Xsqlite3_next_stmt(c.tls, c.db, 0); at != 0; at = lib.Xsqlite3_next_stmt(c.tls, c.db, at) {
			total += int(lib.Xsqlite3_stmt_status(c.tls, at, lib.SQLITE_STMTSTATUS_VM_STEP, 0))
		}
	}
	return total
}
