package engine

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/sqlite"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// lifecycle returns the type and status of each event that has a status.
func (b *bench) lifecycle(id uuid.UUID) []string {
	b.Helper()
	var all []string
	for _, r := range b.log(id) {
		var said struct {
			Status perdure.Status `json:"status"`
		}
		if err := json.Unmarshal(r.Fields, &said); err == nil && said.Status != "" {
			all = append(all, string(r.Type)+" "+string(said.Status))
		}
	}
	return all
}

// TestEveryTransitionIsAnEvent checks that the log contains an event for each change of the status,
// for five ways in which an execution can end.
func TestEveryTransitionIsAnEvent(t *testing.T) {
	begun := []string{
		"agent.created PENDING", "agent.started RUNNING", "agent.waiting WAITING", "agent.resumed RUNNING",
	}
	for name, test := range map[string]struct {
		end  func(*holder)
		want []string
	}{
		"complete":    {func(h *holder) { h.commit(completing()) }, []string{"agent.completed COMPLETED"}},
		"fail":        {func(h *holder) { h.commit(func(c *perdure.Commit) { c.Outcome.Kind = perdure.OutcomeFail }) }, []string{"agent.failed FAILED"}},
		"cancel":      {func(h *holder) { h.cancel(); h.commit(completing()) }, []string{"agent.cancelling CANCELLING", "agent.cancelled CANCELLED"}},
		"cancel late": {func(h *holder) { h.suspend(perdure.WaitSignal("x")); h.cancel() }, []string{"agent.waiting WAITING", "agent.cancelled CANCELLED"}},
		"lost":        {func(h *holder) { takeover(h).commit(completing()) }, []string{"agent.resumed RUNNING", "agent.completed COMPLETED"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			h := b.started()
			h.suspend(perdure.WaitSignal("go"))
			b.signal(h.id, "go", "s1")
			h = b.claim()
			test.end(h)
			if got, want := b.lifecycle(h.id), append(slices.Clone(begun), test.want...); !slices.Equal(got, want) {
				t.Errorf("the log says %q, want %q", got, want)
			}
		})
	}
}

// TestSignalsAreAcceptedUntilTheEnd checks that an execution accepts signals in every status until
// it has ended.
func TestSignalsAreAcceptedUntilTheEnd(t *testing.T) {
	b := newBench(t)
	id := b.start()
	b.signal(id, "m", "pending")
	h := b.claim()
	b.signal(id, "m", "running")
	h.commit(func(c *perdure.Commit) {
		c.Take, c.Checkpoint = []string{"pending", "running"}, &perdure.NewCheckpoint{}
	})
	h.suspend(perdure.WaitSignal("other"))
	b.signal(id, "m", "waiting")
	b.wantStatus(id, perdure.StatusWaiting)
	b.signal(id, "other", "wakes")
	h = b.claim()
	wantIDs(t, "the signals", h.claim.Signals, "waiting", "wakes")
	h.commit(completing())
	_, err := b.e.Signal(t.Context(), org, id, SignalRequest{Name: "m", ID: "ended"})
	b.wantCode(err, perdure.ExecutionEnded)
}

// TestLeaseWithoutAClaimHoldsNothing checks that a lease without a claim id is refused, even for an
// execution that is not claimed and therefore has no claim id.
func TestLeaseWithoutAClaimHoldsNothing(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.suspend(perdure.WaitSignal("x"))
	h.claim.Lease.ClaimID = uuid.Nil
	before := b.snapshot(h.id)
	for name, edit := range map[string]func(*perdure.Commit){
		"continue": func(c *perdure.Commit) { c.Entries = []perdure.NewEntry{user(nil, "ghost")} },
		"complete": completing(),
	} {
		if _, err := h.try(edit); !perdure.IsCode(err, perdure.LeaseLost) {
			t.Errorf("%s gave %v", name, err)
		}
	}
	beat, err := b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
	b.must(err)
	if !beat.Agents[0].Lost {
		t.Error("the heartbeat renewed it")
	}
	if after := b.snapshot(h.id); after != before {
		t.Errorf("something was written:\n%s\n%s", before, after)
	}
}

// TestTimerIsPunctual checks that a timer wakes an execution within 100 ms after its due time, on a
// server without other work. One execution suspends before the server's loop (Run) begins, and one
// afterwards.
func TestTimerIsPunctual(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := &bench{T: t, worker: uuid.New()}
		var err error
		b.s, err = sqlite.Open(context.WithoutCancel(t.Context()), sqlite.Options{Path: t.TempDir() + "/perdure.db", Clock: time.Now})
		b.must(err)
		t.Cleanup(func() {
			invariants.Check(t, b.s)
			b.must(b.s.Close())
		})
		b.use(b.s)
		b.register()
		sleep := func(d time.Duration) *holder {
			h := b.started()
			h.suspend(perdure.WaitUntil(perdure.At(time.Now().Add(d))))
			return h
		}
		first := sleep(10*time.Second + 130*time.Millisecond)
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- b.e.Run(ctx) }()
		time.Sleep(time.Second)
		second := sleep(30 * time.Millisecond)
		for _, h := range []*holder{second, first} {
			due, _ := b.execution(h.id).Wait.NextTimer()
			time.Sleep(time.Until(due.Time) - time.Millisecond)
			synctest.Wait()
			b.wantStatus(h.id, perdure.StatusWaiting)
			time.Sleep(100 * time.Millisecond)
			b.wantStatus(h.id, perdure.StatusPending)
		}
		stop()
		b.must(<-over)
	})
}

// lanes is a store that records the lanes of commands.
type lanes struct {
	store.Store
	seen map[string]store.Lane
}

func (l *lanes) Do(ctx context.Context, c store.Command) ([]any, error) {
	l.seen[c.Name] = c.Lane
	return l.Store.Do(ctx, c)
}

// TestRenewalsGoFirst checks the lanes of commands in the committer. Renewals and claims have the
// first lane, commits the second. Timers and the ends of leases have the lane of sweeps.
func TestRenewalsGoFirst(t *testing.T) {
	b := newBench(t)
	l := &lanes{Store: b.s, seen: map[string]store.Lane{}}
	b.use(l)
	h := b.started()
	h.schedule("1")
	task := b.taskClaim()
	for _, beat := range []perdure.Heartbeat{{Agents: []perdure.Lease{h.claim.Lease}}, {Tasks: []perdure.TaskHeartbeat{{Lease: task.Lease}}}} {
		_, err := b.d.Heartbeat(t.Context(), beat)
		b.must(err)
	}
	b.started().suspend(perdure.WaitUntil(perdure.At(b.clock.Now().Add(time.Second))))
	b.clock.advance(testLease + time.Second)
	b.sweep()
	for name, want := range map[string]store.Lane{
		"renew": store.LaneClaims, "renew task": store.LaneClaims, "claim agents": store.LaneClaims, "claim tasks": store.LaneClaims,
		"commit": store.LaneCommits, "timers": store.LaneSweeps, "reap agents": store.LaneSweeps,
	} {
		if got, ok := l.seen[name]; !ok || got != want {
			t.Errorf("%s is in lane %v (seen: %v), want %v", name, got, ok, want)
		}
	}
}

// TestDefaults checks the defaults of lease, payload limit and cancel grace, which are documented
// in docs/ and in the help of the flags.
func TestDefaults(t *testing.T) {
	b := newBench(t)
	b.e = New(Config{Store: b.s})
	settings, err := b.e.Dispatch(org, false).Register(t.Context(), perdure.Registration{})
	b.must(err)
	if settings.Lease != 15*time.Second || settings.PayloadLimit != 64<<20 || b.e.CancelGrace != 30*time.Second {
		t.Errorf("lease %s, payloads %d, grace %s", settings.Lease, settings.PayloadLimit, b.e.CancelGrace)
	}
}
