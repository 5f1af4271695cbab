package engine_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/notify/nats"
	"github.com/perdure/perdure/internal/notify/notifytest"
	"github.com/perdure/perdure/internal/store/opentest"
)

// TestHintsReachOtherServers checks the hints between two servers. A new execution on one server
// ends the wait of a poll on the other. When a log grows on one server, the other gets a hint, even
// if readers on the first server got the new text directly. Tick is so long that only hints can be
// the cause.
func TestHintsReachOtherServers(t *testing.T) {
	const org, forEver = "acme", 1000 * time.Hour
	store, server := opentest.Store(t), notifytest.NewNATS(t)
	var engines []*engine.Engine
	for range 2 {
		hints, err := nats.Open(nats.Options{URL: server.URL(), Cluster: "one", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(hints.Close)
		engines = append(engines, engine.New(engine.Config{
			Store: store, Hints: hints, Tick: forEver, Grown: func(engine.Growth) bool { return true },
		}))
	}
	here, there := engines[0], engines[1].Dispatch(org, false)
	worker := uuid.New()
	if _, err := there.Register(t.Context(), perdure.Registration{WorkerID: worker, Agents: []perdure.KindSpec{{Kind: "agent"}}}); err != nil {
		t.Fatal(err)
	}
	poll := perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1, Wait: time.Minute}
	for range 10 {
		claims := make(chan []perdure.AgentClaim, 1)
		go func() {
			got, err := there.PollAgents(t.Context(), poll)
			if err != nil {
				t.Error(err)
			}
			claims <- got
		}()
		x, err := here.Start(t.Context(), org, engine.StartRequest{Kind: "agent", Input: json.RawMessage(`1`)})
		if err != nil {
			t.Fatal(err)
		}
		got := <-claims
		if len(got) != 1 || got[0].Lease.ExecutionID != x.ID {
			t.Fatalf("the poll at the other server gave %+v", got)
		}
		// Hints arrive in order: after this hint, no earlier hint can arrive.
		before, endBefore := engines[1].Hints.Subscribe(notify.Freed("a fence"))
		here.Hints.PublishAway(notify.Freed("a fence"))
		<-before
		endBefore()
		grown, end := engines[1].Hints.Subscribe(notify.Log(x.ID))
		replies, err := here.Dispatch(org, false).Append(t.Context(), []perdure.Frame{{AgentLease: &got[0].Lease, Type: perdure.EventToken, Text: "new"}})
		if err != nil || replies[0].Err != nil {
			t.Fatal(err, replies)
		}
		select {
		case <-grown:
		case <-time.After(time.Minute):
			t.Fatal("no hint that the log has grown")
		}
		end()
	}
}
