package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/rules"
	"github.com/perdure/perdure/internal/store"
)

// parks suspends the execution until a signal arrives. The commit reports that the worker keeps the
// goroutine.
func (h *holder) parks(seen int64) {
	h.Helper()
	reply := h.commit(func(c *perdure.Commit) {
		suspending(perdure.WaitSignal("go"))(c)
		c.Retained = &perdure.RetainedState{WorkerID: *h.execution(h.id).WorkerID, At: perdure.CommitNumber{Fence: c.Lease.Fence, Number: c.Number}, Seen: seen}
	})
	if !reply.Suspended {
		h.Fatal("it goes on")
	}
}

// waiting is a poll that runs in the background.
type waiting struct {
	claims chan []perdure.AgentClaim
	leave  context.CancelFunc
}

// waits polls in the background, and returns once the poll has found nothing and waits. It must run
// in a bubble (testing/synctest).
func (b *bench) waits(d perdure.Dispatch, p perdure.Poll) *waiting {
	ctx, leave := context.WithCancel(b.Context())
	w := &waiting{make(chan []perdure.AgentClaim, 1), leave}
	p.Wait = time.Minute
	go func() {
		claims, err := d.PollAgents(ctx, p)
		if err != nil {
			b.Error(err)
		}
		w.claims <- claims
	}()
	synctest.Wait()
	return w
}

// TestSignalIsHandedToTheWorkerThatKeepsTheGoroutine checks that a signal ends a waiting poll of
// the worker that keeps the goroutine. The poll returns the claim, which contains only the new
// signal.
func TestSignalIsHandedToTheWorkerThatKeepsTheGoroutine(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		b.signal(h.id, "seen", "s0")
		h.parks(1)
		poll := b.waits(b.e.Dispatch(org, true), b.poll(2))
		reply, err := b.e.Signal(t.Context(), org, h.id, SignalRequest{Name: "go", ID: "s1", Value: []byte(`{"n":1}`)})
		b.must(err)
		if reply.Status != perdure.StatusRunning {
			t.Errorf("the signal was answered %s, want RUNNING", reply.Status)
		}
		claims := <-poll.claims
		if len(claims) != 1 {
			t.Fatalf("the poll got %d claims, want 1", len(claims))
		}
		c, x := claims[0], b.execution(h.id)
		if !c.ContinuesParked || c.WakeReason != perdure.WakeSignal || len(c.Signals) != 1 || string(c.Signals[0].Value) != `{"n":1}` || c.SignalsTo != 2 {
			t.Errorf("the claim brings %+v", c)
		}
		if want := (perdure.Lease{ExecutionID: x.ID, Fence: x.Fence, ClaimID: x.ClaimID}); c.Lease != want || !x.Embedded || *x.WorkerID != b.worker {
			t.Errorf("the lease is %+v, the row's %+v (embedded %t)", c.Lease, want, x.Embedded)
		}
		again := &holder{bench: b, claim: c, id: h.id}
		again.commit(completing())
	})
}

// TestHandoverKeepsToTheRulesOfClaims checks that no execution is handed over to a poll that may
// not claim it. The execution becomes PENDING instead.
func TestHandoverKeepsToTheRulesOfClaims(t *testing.T) {
	for name, change := range map[string]func(b *bench, h *holder, p *perdure.Poll){
		"another queue":  func(_ *bench, _ *holder, p *perdure.Poll) { p.Queues = []string{"other"} },
		"another kind":   func(_ *bench, _ *holder, p *perdure.Poll) { p.Kinds = []string{"strict"} },
		"another worker": func(_ *bench, _ *holder, p *perdure.Poll) { p.WorkerID = uuid.New() },
		"a paused queue": func(b *bench, _ *holder, _ *perdure.Poll) { b.pause("default") },
		"another commit": func(b *bench, h *holder, _ *perdure.Poll) {
			b.e.keepers.Keep(h.id, perdure.RetainedState{WorkerID: b.worker, At: perdure.CommitNumber{Fence: 1, Number: 7}}, b.s.Now())
		},
		"its worker gets idle for another": func(*bench, *holder, *perdure.Poll) {}, // b.drains below chooses the worker, once the poll waits
		"discarded": func(b *bench, h *holder, _ *perdure.Poll) {
			b.must(b.d.Release(b.Context(), perdure.Release{WorkerID: b.worker, Discarded: []uuid.UUID{h.id}}))
		},
		"another server": func(b *bench, h *holder, _ *perdure.Poll) { b.use(b.s) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newBench(t)
				h := b.started()
				h.parks(0)
				p, there := b.poll(2), b.d
				change(b, h, &p)
				poll := b.waits(there, p)
				if name == "its worker gets idle for another" {
					b.drains(b.worker)
				}
				reply, err := b.e.Signal(t.Context(), org, h.id, SignalRequest{Name: "go"})
				b.must(err)
				if reply.Status != perdure.StatusPending {
					t.Errorf("the signal was answered %s, want PENDING", reply.Status)
				}
				poll.leave()
				<-poll.claims
			})
		})
	}
}

// TestNothingIsHandedBesideOneThatIsAlone checks that no execution is handed over to a worker that
// has an execution which must run alone. The woken execution becomes PENDING.
func TestNothingIsHandedBesideOneThatIsAlone(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		h.parks(0)
		b.dangerous()
		if got := b.claims(); len(got) != 1 {
			t.Fatalf("%d claims of the one that has to be alone", len(got))
		}
		poll := b.waits(b.d, b.poll(2))
		b.signal(h.id, "go", "s1")
		b.wantStatus(h.id, perdure.StatusPending)
		poll.leave()
		if got := <-poll.claims; len(got) != 0 {
			t.Errorf("beside it, %d claims", len(got))
		}
	})
}

// TestHandoverIsBoundByThePollsSlots checks that a poll with one slot gets only one of two woken
// executions. The next poll gets the other one.
func TestHandoverIsBoundByThePollsSlots(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		b.start()
		for _, c := range b.claims() {
			(&holder{bench: b, claim: c, id: c.Lease.ExecutionID}).parks(0)
		}
		poll := b.waits(b.d, b.poll(1))
		for _, x := range b.claimable() {
			go b.signal(x, "go", x.String())
		}
		first := <-poll.claims
		synctest.Wait()
		second := b.claims()
		if len(first) != 1 || len(second) != 1 || first[0].Lease.ExecutionID == second[0].Lease.ExecutionID {
			t.Errorf("a poll with one slot got %d, the next %d; want one each", len(first), len(second))
		}
	})
}

// claimable returns the ids of all executions.
func (b *bench) claimable() []uuid.UUID {
	b.Helper()
	page, err := b.s.Executions(b.Context(), org, store.ExecutionFilter{Limit: 100})
	b.must(err)
	var ids []uuid.UUID
	for _, x := range page.Items {
		ids = append(ids, x.ID)
	}
	return ids
}

// gated is a store that blocks the commands with a given name, and fails some reads.
type gated struct {
	store.Store
	name   string
	gate   chan struct{}
	broken atomic.Int32 // number of reads that fail
}

func (g *gated) Do(ctx context.Context, c store.Command) ([]any, error) {
	if c.Name == g.name {
		<-g.gate
	}
	return g.Store.Do(ctx, c)
}

func (g *gated) Lazy() store.Reader { return g }

func (g *gated) Together(ctx context.Context, read func(store.ClaimReader) error) error {
	if g.broken.Add(-1) >= 0 {
		return errors.New("the disk is on fire")
	}
	return g.Store.Lazy().Together(ctx, read)
}

// TestPollThatEndsTakesAlongWhatIsHandedOver cancels a poll while a command claims an execution for
// this poll. It checks that the poll waits for the claim and returns it.
func TestPollThatEndsTakesAlongWhatIsHandedOver(t *testing.T) {
	for name, wakes := range map[string]bool{"woken": true, "not woken": false} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newBench(t)
				g := &gated{Store: b.s, name: "signal", gate: make(chan struct{})}
				b.use(g)
				h := b.started()
				h.parks(0)
				poll := b.waits(b.d, b.poll(1))
				signal := map[bool]string{true: "go", false: "other"}[wakes]
				go b.signal(h.id, signal, "s1")
				synctest.Wait()
				poll.leave()
				synctest.Wait()
				select {
				case <-poll.claims:
					t.Fatal("the poll ended while a claim was made for it")
				default:
				}
				close(g.gate)
				if got := <-poll.claims; (len(got) == 1) != wakes {
					t.Errorf("the poll ended with %d claims", len(got))
				}
				if wakes { // no worker uses the claim
					b.clock.advance(testLease + time.Second)
					b.sweep()
					b.wantStatus(h.id, perdure.StatusPending)
				}
			})
		})
	}
}

// TestHandoverThatWasNotNeededLeavesThePoll checks that the slot that a signal has reserved in a
// poll becomes free again if the signal did not wake the execution. The next signal hands the
// execution over to the same poll.
func TestHandoverThatWasNotNeededLeavesThePoll(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		h.parks(0)
		poll := b.waits(b.d, b.poll(1))
		b.signal(h.id, "other", "s1")
		b.signal(h.id, "go", "s2")
		got := <-poll.claims
		if len(got) != 1 || len(got[0].Signals) != 2 {
			t.Fatalf("the poll got %+v, want one claim with both signals", got)
		}
	})
}

// TestHandoverThatCannotBeReadIsGivenBack checks that a claim whose data cannot be read is released
// at once. The poll then claims the execution with all its data.
func TestHandoverThatCannotBeReadIsGivenBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		g := &gated{Store: b.s}
		b.use(g)
		h := b.started()
		b.signal(h.id, "before", "s0") // unknown to the worker
		h.parks(0)
		poll := b.waits(b.d, b.poll(1))
		g.broken.Store(1)
		b.signal(h.id, "go", "s1")
		if got := <-poll.claims; len(got) != 1 || got[0].WakeReason != perdure.WakeReturned || got[0].ContinuesParked || len(got[0].Signals) != 2 {
			t.Errorf("the poll got %+v, want the whole of what was given back", got)
		}
	})
}

// TestEndOfATaskBringsWhatIsNew checks the claim in the reply to the end of a task. The claim
// contains only new data if the worker still keeps the goroutine as it was at the last commit.
// Otherwise the claim contains all data.
func TestEndOfATaskBringsWhatIsNew(t *testing.T) {
	for name, c := range map[string]struct {
		kept  func(h *holder) *perdure.RetainedState
		whole bool
	}{
		"kept": {kept: func(h *holder) *perdure.RetainedState {
			return &perdure.RetainedState{WorkerID: h.worker, At: perdure.CommitNumber{Fence: h.claim.Lease.Fence, Number: h.number}, Seen: 1}
		}},
		"nothing known":  {kept: func(*holder) *perdure.RetainedState { return nil }, whole: true},
		"another commit": {kept: func(h *holder) *perdure.RetainedState { return &perdure.RetainedState{WorkerID: h.worker, Seen: 1} }, whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			b.signal(h.id, "a", "s1")
			ids := h.schedule("1", "2")
			claims := b.taskClaims()
			h.suspend(perdure.WaitAll(perdure.WaitTask(ids[0]), perdure.WaitTask(ids[1])))
			b.finish(done(claims[0], `"first"`))
			b.signal(h.id, "b", "s2")
			f := done(claims[1], `"second"`)
			f.Parked, f.Retained = true, c.kept(h)
			got := b.finish(f).Claim
			if got == nil {
				t.Fatal("no claim")
			}
			results := map[uuid.UUID]string{}
			for _, r := range got.Results {
				results[r.ID] = string(r.Status) + " " + string(r.Result)
			}
			first, second := results[claims[0].Lease.TaskID], results[claims[1].Lease.TaskID]
			want := "COMPLETED "
			if c.whole {
				want = `COMPLETED "second"`
			}
			if first != `COMPLETED "first"` || second != want {
				t.Errorf("the results are %q and %q", first, second)
			}
			signals := map[bool]int{true: 2, false: 1}[c.whole]
			if got.ContinuesParked == c.whole || (got.Execution.Input == nil) == c.whole || len(got.Signals) != signals || got.SignalsTo != 2 {
				t.Errorf("the claim is %+v, with %d signals", got, len(got.Signals))
			}
			// The reply to a repeated finish contains the same claim.
			if again := b.finish(f).Claim; again == nil || again.Lease != got.Lease || again.ContinuesParked || len(again.Results) != 2 {
				t.Errorf("the same end delivered again brings %+v", again)
			}
		})
	}
}

// TestPollBringsWhatIsNew checks that the claim that a poll returns contains only new data if the
// worker keeps the goroutine. After a release, the next claim contains all data.
func TestPollBringsWhatIsNew(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.parks(0)
	b.signal(h.id, "go", "s1")
	first := b.claim()
	if !first.claim.ContinuesParked || len(first.claim.Signals) != 1 || first.claim.Execution.Input != nil {
		t.Errorf("the claim is %+v", first.claim)
	}
	b.must(b.d.Release(t.Context(), perdure.Release{WorkerID: b.worker, Agents: []perdure.AgentRelease{{Lease: first.claim.Lease}}}))
	if second := b.claim(); second.claim.ContinuesParked || len(second.claim.Signals) != 1 || second.claim.Execution.Input == nil {
		t.Errorf("given back it comes as %+v", second.claim)
	}
}

// TestEndOfATaskElsewhereIsHandedToTheKeeper checks a task that runs on another worker than the one
// that has parked the execution's goroutine. The poll of the worker with the goroutine returns the
// claim of the execution, which contains the task's input and result.
func TestEndOfATaskElsewhereIsHandedToTheKeeper(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		id, claim := h.scheduled("1")
		h.commit(func(c *perdure.Commit) {
			suspending(perdure.WaitTask(id))(c)
			c.Retained = &perdure.RetainedState{WorkerID: b.worker, At: perdure.CommitNumber{Fence: c.Lease.Fence, Number: c.Number}}
		})
		poll := b.waits(b.d, b.poll(1))
		f := done(claim, `"out"`)
		f.WorkerID = uuid.New()
		for range 2 { // a repeat claims nothing more
			reply, err := b.d.FinishTask(t.Context(), f)
			b.must(err)
			if reply.Claim != nil {
				t.Error("the other worker got the claim")
			}
		}
		got := <-poll.claims
		if len(got) != 1 || !got[0].ContinuesParked || len(got[0].Results) != 1 || string(got[0].Results[0].Result) != `"out"` || string(got[0].Results[0].Input) != "1" {
			t.Errorf("the poll got %+v", got)
		}
		if x := b.execution(h.id); x.Status != perdure.StatusRunning || x.Fence != h.claim.Lease.Fence+1 {
			t.Errorf("it is %s with fence %d", x.Status, x.Fence)
		}
	})
}

// TestLocalIsHandedToItsHome checks that a LOCAL execution is handed over only to its home worker,
// and only if the poll says that the worker has a store.
func TestLocalIsHandedToItsHome(t *testing.T) {
	for name, c := range map[string]struct {
		poll func(b *bench) perdure.Poll
		want bool
	}{
		"its home":                 {func(b *bench) perdure.Poll { return b.localPoll(b.worker) }, true},
		"its home without a store": {func(b *bench) perdure.Poll { return b.poll(8) }, false},
		"another worker":           {func(b *bench) perdure.Poll { return b.localPoll(uuid.New()) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				k := newKeeper(t)
				k.parks(0)
				p := c.poll(k.bench)
				poll := k.waits(k.d, p)
				// The method Keep accepts any worker as the keeper of the goroutine. The command
				// Signal must still hand the execution over only to the execution's home.
				k.e.keepers.Keep(k.id, perdure.RetainedState{WorkerID: p.WorkerID, At: rules.LastCommit(k.execution(k.id))}, k.s.Now())
				reply, err := k.e.Signal(t.Context(), org, k.id, SignalRequest{Name: "go"})
				k.must(err)
				if handed := reply.Status == perdure.StatusRunning; handed != c.want {
					t.Errorf("the signal was answered %s", reply.Status)
				}
				poll.leave()
				if got := <-poll.claims; len(got) == 1 != c.want {
					t.Errorf("the poll got %d claims", len(got))
				}
				if !c.want {
					k.wantStatus(k.id, perdure.StatusPending)
					k.again() // its home claims it
				}
			})
		})
	}
}

// TestHandoverBesideAFullQueue checks that a woken execution is handed over to a waiting poll
// although the execution's queue has reached its limit of running tasks. A task that the execution
// creates then runs only after the running task has ended.
func TestHandoverBesideAFullQueue(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.e.QueueLimits = map[string]int{"default": 1}
		h := b.started()
		running := h.eagerly(h.newTask("1"))
		if len(running) != 1 {
			t.Fatalf("the commit claimed %d, want 1", len(running))
		}
		h.parks(0)
		poll := b.waits(b.e.Dispatch(org, true), b.poll(2))
		b.signal(h.id, "go", "s1")
		claims := <-poll.claims
		if len(claims) != 1 || !claims[0].ContinuesParked {
			t.Fatalf("the poll got %d claims, want the one that was handed over", len(claims))
		}
		again := &holder{bench: b, claim: claims[0], id: h.id}
		if got := again.eagerly(again.newTask("2")); len(got) != 0 {
			t.Errorf("on the full queue the commit claimed %d", len(got))
		}
		b.finish(done(running[0], "1"))
		if got := b.taskClaims(); len(got) != 1 {
			t.Errorf("the free place went to %d", len(got))
		}
	})
}
