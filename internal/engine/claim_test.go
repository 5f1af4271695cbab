package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

func TestTenPollersOneExecution(t *testing.T) {
	b := newBench(t)
	id := b.start()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		claims []perdure.AgentClaim
	)
	for range 10 {
		wg.Go(func() {
			p := b.poll(4)
			p.WorkerID = uuid.New()
			got, err := b.d.PollAgents(t.Context(), p)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			claims = append(claims, got...)
		})
	}
	wg.Wait()
	if len(claims) != 1 || claims[0].Lease.ExecutionID != id {
		t.Fatalf("%d claims, want exactly one: %+v", len(claims), claims)
	}
	if n := b.count(id, perdure.EventStarted); n != 1 {
		t.Errorf("%d agent.started events, want 1", n)
	}
}

func TestTenPollersManyTasks(t *testing.T) {
	b := newBench(t)
	h := b.started()
	var inputs []string
	for i := range 25 {
		inputs = append(inputs, fmt.Sprint(i))
	}
	h.schedule(inputs...)
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		seen = map[uuid.UUID]int{}
	)
	for range 10 {
		wg.Go(func() {
			for {
				claims, err := b.d.PollTasks(t.Context(), b.poll(2))
				if err != nil {
					t.Error(err)
				}
				if len(claims) == 0 {
					return
				}
				mu.Lock()
				for _, c := range claims {
					seen[c.Lease.TaskID]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 25 {
		t.Errorf("%d of 25 tasks were claimed", len(seen))
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("task %s was claimed %d times", id, n)
		}
	}
}

func TestLongestPendingFirst(t *testing.T) {
	b := newBench(t)
	first := b.start()
	b.clock.advance(time.Millisecond)
	second := b.start()
	h := b.claimOf(1)
	if h.id != first {
		t.Fatal("the execution that was made last was claimed first")
	}
	// The first execution suspends and wakes, so it is now claimed after the second one.
	h.suspend(perdure.WaitSignal("go"))
	b.clock.advance(time.Millisecond)
	b.signal(first, "go", "s1")
	if b.claimOf(1).id != second {
		t.Fatal("the execution that became pending last was claimed first")
	}
}

// claimOf polls with the given number of slots and returns the first claim. It fails the test if
// there is none.
func (b *bench) claimOf(slots int) *holder {
	b.Helper()
	claims, err := b.d.PollAgents(b.Context(), b.poll(slots))
	b.must(err)
	if len(claims) == 0 || len(claims) > slots {
		b.Fatalf("a poll with %d slots gave %d claims", slots, len(claims))
	}
	return &holder{bench: b, claim: claims[0], id: claims[0].Lease.ExecutionID}
}

func TestPollKeepsToOrgQueueAndKind(t *testing.T) {
	b := newBench(t)
	b.start()
	for name, poll := range map[string]func(*perdure.Poll) string{
		"another queue": func(p *perdure.Poll) string { p.Queues = []string{"gpu"}; return org },
		"another kind":  func(p *perdure.Poll) string { p.Kinds = []string{"other"}; return org },
		"another org":   func(p *perdure.Poll) string { return "globex" },
	} {
		p := b.poll(1)
		of := poll(&p)
		claims, err := b.e.Dispatch(of, false).PollAgents(t.Context(), p)
		b.must(err)
		if len(claims) != 0 {
			t.Errorf("a poll of %s got the execution", name)
		}
	}
	for name, p := range map[string]perdure.Poll{"no slot": b.poll(0), "no kind": {Queues: []string{"default"}, Slots: 1}} {
		_, err := b.d.PollAgents(t.Context(), p)
		if !perdure.IsCode(err, perdure.InvalidArgument) {
			t.Errorf("a poll with %s gave %v", name, err)
		}
	}
}

func TestClaimBringsWhatAResumeNeeds(t *testing.T) {
	b := newBench(t)
	h := b.started()
	if h.claim.WakeReason != perdure.WakeStart || h.claim.Checkpoint != nil || string(h.claim.Execution.Input) != `{"a":1}` {
		t.Fatalf("the first claim is %+v", h.claim)
	}
	if h.claim.LeaseFor != testLease || h.claim.Lease.Fence != 1 || h.claim.Lease.ClaimID == uuid.Nil {
		t.Fatalf("the first lease is %+v for %s", h.claim.Lease, h.claim.LeaseFor)
	}
	h.commit(func(c *perdure.Commit) {
		c.Entries = []perdure.NewEntry{user(nil, "hello")}
		c.Checkpoint = &perdure.NewCheckpoint{State: perdure.Inline([]byte(`{"k":1}`)), Reason: "test"}
	})
	ids := h.schedule("1")
	h.suspend(perdure.WaitTask(ids[0]))
	b.signal(h.id, "note", "s1")
	b.finish(done(b.taskClaim(), `"out"`))

	next := b.claim().claim
	if next.WakeReason != perdure.WakeTask || next.Lease.Fence != 2 || next.Lease.ClaimID == h.claim.Lease.ClaimID {
		t.Errorf("the second claim woke by %s, fence %d", next.WakeReason, next.Lease.Fence)
	}
	if next.LastCommit != (perdure.CommitNumber{Fence: 1, Number: 3, ClaimID: h.claim.Lease.ClaimID}) {
		t.Errorf("the last commit is %+v, want fence 1 number 3", next.LastCommit)
	}
	if next.Checkpoint == nil || string(next.Checkpoint.State) != `{"k":1}` || next.Checkpoint.Sequence != 1 {
		t.Errorf("the checkpoint is %+v", next.Checkpoint)
	}
	if len(next.Results) != 1 || string(next.Results[0].Result) != `"out"` {
		t.Errorf("the results are %+v", next.Results)
	}
	if len(next.Signals) != 1 || next.Signals[0].ID != "s1" || next.MoreSignals {
		t.Errorf("the signals are %+v", next.Signals)
	}
}

func TestClaimCarriesAMebibyteOfSignals(t *testing.T) {
	b := newBench(t)
	id := b.start()
	for i := range 5 {
		value, err := json.Marshal(strings.Repeat("x", 400<<10))
		b.must(err)
		_, err = b.e.Signal(t.Context(), org, id, SignalRequest{Name: "big", ID: fmt.Sprint(i), Value: value})
		b.must(err)
	}
	c := b.claim().claim
	size := 0
	for _, s := range c.Signals {
		size += len(s.Value)
	}
	if len(c.Signals) == 0 || len(c.Signals) == 5 || size > 1<<20 || !c.MoreSignals {
		t.Errorf("the claim brings %d signals, %d bytes, more: %v", len(c.Signals), size, c.MoreSignals)
	}
}

// TestWaitingPollIsWoken checks that new work wakes a waiting poll. Tick is an hour, so the poll
// cannot find the work without a hint.
func TestWaitingPollIsWoken(t *testing.T) {
	b := newBench(t)
	got := make(chan []perdure.AgentClaim, 1)
	go func() {
		p := b.poll(1)
		p.Wait = time.Minute
		claims, err := b.d.PollAgents(t.Context(), p)
		if err != nil {
			t.Error(err)
		}
		got <- claims
	}()
	b.start()
	select {
	case claims := <-got:
		if len(claims) != 1 {
			t.Errorf("%d claims", len(claims))
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the poll was not woken")
	}
}
