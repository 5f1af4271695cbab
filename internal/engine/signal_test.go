package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
)

func idsOf(signals []perdure.Signal) []string {
	ids := []string{}
	for _, s := range signals {
		ids = append(ids, s.ID)
	}
	return ids
}

func wantIDs(t *testing.T, what string, got []perdure.Signal, want ...string) {
	t.Helper()
	if ids := idsOf(got); !slices.Equal(ids, want) {
		t.Fatalf("%s are %v, want %v", what, ids, want)
	}
}

// TestTwoSignalsOfOneName checks that two signals with one name are stored separately, and that a
// checkpoint consumes only the one that a commit has taken.
func TestTwoSignalsOfOneName(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.suspend(perdure.WaitSignal("m"))
	b.signal(h.id, "m", "s1")
	b.signal(h.id, "m", "s2")
	h = b.claim()
	wantIDs(t, "the signals", h.claim.Signals, "s1", "s2")
	// The first signal is taken and consumed; the second is still pending.
	h.commit(func(c *perdure.Commit) { c.Take, c.Checkpoint = []string{"s1"}, &perdure.NewCheckpoint{} })
	reply := h.commit(suspending(perdure.WaitSignal("m")))
	if reply.Suspended {
		t.Fatal("the second signal was thrown away")
	}
	wantIDs(t, "the signals", reply.Signals, "s2")
}

// TestSignalSurvivesACrash checks that a signal is pending until a commit takes it. Each new claim
// contains two lists: the signals that were taken but not yet consumed by a checkpoint, in the
// order in which they were taken, and the pending signals.
func TestSignalSurvivesACrash(t *testing.T) {
	b := newBench(t)
	h := b.started()
	for _, id := range []string{"s1", "s2", "s3"} {
		b.signal(h.id, "m", id)
	}
	h = takeover(h) // before the take
	wantIDs(t, "the signals", h.claim.Signals, "s1", "s2", "s3")
	wantIDs(t, "the signals given again", h.claim.Again)

	h.commit(func(c *perdure.Commit) { c.Take = []string{"s2"} })
	h.commit(func(c *perdure.Commit) { c.Take = []string{"s1"} })
	h = takeover(h) // after the take, before a checkpoint
	wantIDs(t, "the signals given again", h.claim.Again, "s2", "s1")
	wantIDs(t, "the signals", h.claim.Signals, "s3")

	// The signals are already taken, so the first commit below changes nothing. The checkpoint of
	// the second commit consumes them.
	h.commit(func(c *perdure.Commit) { c.Take = []string{"s2", "s1"} })
	h.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{} })
	h = takeover(h)
	wantIDs(t, "the signals given again", h.claim.Again)
	wantIDs(t, "the signals", h.claim.Signals, "s3")
	h.commit(func(c *perdure.Commit) { c.Take = []string{"s3"}; completing()(c) })
	if taken, err := b.s.TakenSignals(t.Context(), h.id); err != nil || len(taken) != 0 {
		t.Errorf("the end left %v taken (%v)", idsOf(taken), err)
	}
}

// TestCompleteWaitsForPendingSignals checks a commit that completes the execution unless a signal
// with one of the names in Outcome.Unless is pending. If there is such a signal, the execution does
// not end, and the reply contains the signal.
func TestCompleteWaitsForPendingSignals(t *testing.T) {
	b := newBench(t)
	h := b.started()
	b.signal(h.id, "other", "s0")
	b.signal(h.id, "m", "s1")
	reply := h.commit(completing("m"))
	if reply.Ended != "" {
		t.Fatal("it ended with a message unread")
	}
	wantIDs(t, "the signals", reply.Signals, "s1")
	if x := b.wantStatus(h.id, perdure.StatusRunning); x.Output != nil {
		t.Errorf("the output %s was stored", x.Output)
	}
	// A commit that takes the signal ends the execution. A pending signal with another name does
	// not prevent the end.
	if reply = h.commit(func(c *perdure.Commit) { completing("m")(c); c.Take = []string{"s1"} }); reply.Ended != perdure.StatusCompleted {
		t.Fatalf("it did not end: %+v", reply)
	}
}

func TestEndAndMessageRace(t *testing.T) {
	b := newBench(t)
	for range 20 {
		h := b.started()
		var (
			wg       sync.WaitGroup
			accepted bool
			reply    perdure.CommitReply
		)
		wg.Go(func() {
			_, err := b.e.Signal(t.Context(), org, h.id, SignalRequest{Name: "m", ID: "s1"})
			accepted = err == nil
			if err != nil && !perdure.IsCode(err, perdure.ExecutionEnded) {
				t.Error(err)
			}
		})
		wg.Go(func() { reply = h.commit(completing("m")) })
		wg.Wait()
		if accepted != (reply.Ended == "") || accepted != (len(reply.Signals) == 1) {
			t.Fatalf("accepted: %v, and the end answered %+v", accepted, reply)
		}
		if accepted {
			h.commit(completing())
		}
	}
}

func TestSignalIDMakesSendingIdempotent(t *testing.T) {
	b := newBench(t)
	id := b.start()
	b.signal(id, "m", "s1")
	b.signal(id, "m", "s1")
	if n := b.count(id, perdure.EventSignal); n != 1 {
		t.Errorf("%d signal.received events, want 1", n)
	}
	h := b.claim()
	wantIDs(t, "the signals", h.claim.Signals, "s1")
	h.commit(func(c *perdure.Commit) { c.Take, c.Checkpoint = []string{"s1"}, &perdure.NewCheckpoint{} })
	b.signal(id, "m", "s1") // consumed, but its id is still known
	if reply := h.commit(completing("m")); reply.Ended != perdure.StatusCompleted {
		t.Error("a signal that was consumed became pending again")
	}
	b.signal(id, "m", "s1") // a retry of the sender does not fail after the end
}

func TestSignalWithoutAnIDGetsOne(t *testing.T) {
	b := newBench(t)
	id := b.start()
	var ids []string
	for range 2 {
		reply, err := b.e.Signal(t.Context(), org, id, SignalRequest{Name: "m"})
		b.must(err)
		ids = append(ids, reply.SignalID)
	}
	if ids[0] == "" || ids[0] == ids[1] {
		t.Errorf("the ids are %q", ids)
	}
}

func TestSignalsThatAreRefused(t *testing.T) {
	b := newBench(t)
	id := b.start()
	for name, test := range map[string]struct {
		r    SignalRequest
		code perdure.Code
	}{
		"a pattern":           {SignalRequest{Name: "a.*"}, perdure.InvalidArgument},
		"no name":             {SignalRequest{}, perdure.InvalidArgument},
		"an empty segment":    {SignalRequest{Name: "a..b"}, perdure.InvalidArgument},
		"a long id":           {SignalRequest{Name: "a", ID: strings.Repeat("x", 300)}, perdure.InvalidArgument},
		"no JSON":             {SignalRequest{Name: "a", Value: json.RawMessage(`{`)}, perdure.InvalidArgument},
		"too large":           {SignalRequest{Name: "a", Value: json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}, perdure.PayloadTooLarge},
		"a message of nobody": {SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{}`)}, perdure.InvalidArgument},
		"an empty message":    {SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{"text":""}`)}, perdure.InvalidArgument},
		"a message that calls tools": {
			SignalRequest{Name: perdure.UserMessage, Value: json.RawMessage(`{"parts":[{"type":"toolCall","id":"1","name":"x"}]}`)}, perdure.InvalidArgument,
		},
	} {
		if _, err := b.e.Signal(t.Context(), org, id, test.r); !perdure.IsCode(err, test.code) {
			t.Errorf("%s gave %v, want %s", name, err, test.code)
		}
	}
	if n := b.count(id, perdure.EventSignal); n != 0 {
		t.Errorf("%d signals were stored", n)
	}
}

// TestTenConsumersWhileSignalsCome checks that ten competing consumers take each of five signals
// exactly once, while the signals are sent concurrently.
func TestTenConsumersWhileSignalsCome(t *testing.T) {
	b := newBench(t)
	h := b.started()
	h.suspend(perdure.WaitSignal("job"))
	var senders, consumers sync.WaitGroup
	for i := range 5 {
		senders.Go(func() { b.signal(h.id, "job", fmt.Sprint(i)) })
	}
	var (
		mu    sync.Mutex
		taken = map[string]int{}
	)
	for range 10 {
		consumers.Go(func() {
			for {
				mu.Lock()
				over := len(taken) == 5
				mu.Unlock()
				if over {
					return
				}
				claims, err := b.d.PollAgents(t.Context(), b.poll(1))
				if err != nil {
					t.Error(err)
					return
				}
				if len(claims) == 0 {
					continue
				}
				c := &holder{bench: b, claim: claims[0], id: h.id}
				for _, s := range c.claim.Signals[:min(1, len(c.claim.Signals))] {
					c.commit(func(c *perdure.Commit) { c.Take, c.Checkpoint = []string{s.ID}, &perdure.NewCheckpoint{} })
					mu.Lock()
					taken[s.ID]++
					mu.Unlock()
				}
				if reply := c.commit(suspending(perdure.WaitSignal("job"))); !reply.Suspended {
					b.must(b.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: c.claim.Lease}}}))
				}
			}
		})
	}
	senders.Wait()
	consumers.Wait()
	for i := range 5 {
		if n := taken[fmt.Sprint(i)]; n != 1 {
			t.Errorf("signal %d was taken %d times", i, n)
		}
	}
}
