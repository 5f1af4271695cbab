package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/store/opentest"
)

// twoServers returns two servers on one database.
func twoServers(t *testing.T) (benches []*bench) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	for _, s := range opentest.Servers(t, 2) {
		e := engine.New(engine.Config{Store: s, Logger: quiet})
		e.WebhookRules(tenants.WebhookPolicy{Loopback: true})
		benches = append(benches, &bench{TB: t, store: s, engine: e, sender: New(Config{Engine: e, Links: e.Questions, Store: s, Hints: e.Hints, Network: Network{AllowLoopback: true}, Logger: quiet})})
	}
	benches[0].register(org)
	return benches
}

// TestAWebhookOfAnotherServerIsSeen checks that a server notices a change that another server has
// made to a webhook. The change must apply from the next event on, although the server has cached
// the org's webhooks.
func TestAWebhookOfAnotherServerIsSeen(t *testing.T) {
	benches := twoServers(t)
	one, two := benches[0], benches[1]
	two.start() // the store has never had a webhook
	one.webhookOf("other", "http://127.0.0.1:1/other")
	two.start() // this org has none
	w, _ := one.webhook("http://127.0.0.1:1/nobody", "agent.created")
	no, yes := false, true
	for n, enabled := range []*bool{nil, &no, &yes} {
		if enabled != nil {
			_, err := one.engine.ReplaceWebhook(t.Context(), org, w.ID, 0, perdure.WebhookRequest{URL: w.URL, Events: w.Events, Enabled: enabled})
			one.must(err)
		}
		two.start()
		if got, want := len(one.deliveries(w)), []int{1, 1, 2}[n]; got != want {
			t.Errorf("after change %d there are %d deliveries, want %d", n, got, want)
		}
	}
	_, err := one.engine.DeleteWebhook(t.Context(), org, w.ID)
	one.must(err)
	two.start()
	if got := len(one.deliveries(w)); got != 2 {
		t.Errorf("after the deletion there are %d deliveries, want 2", got)
	}
}

// TestTwoServersDeliverEachEventOnce checks that two senders on one database together send each
// event once, if no sender is stopped.
func TestTwoServersDeliverEachEventOnce(t *testing.T) {
	benches := twoServers(t)
	var mu sync.Mutex
	got := map[string]int{}
	const events = 100
	all := make(chan struct{})
	e := newEndpoint(t, func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if got[r.Header.Get("webhook-id")]++; len(got) == events {
			select {
			case <-all:
			default:
				close(all)
			}
		}
	})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	b := benches[0]
	w, _ := b.webhook(e.URL, "agent.created")
	for _, b := range benches {
		running.Go(func() {
			if err := b.sender.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range events {
		benches[i%2].start() // every second event is one of the server that did not create the webhook
	}
	<-all
	stop()
	running.Wait()
	for id, n := range got {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
	if n := len(b.deliveries(w)); n != events {
		t.Errorf("%d deliveries", n)
	}
}
