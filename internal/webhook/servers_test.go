package webhook

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/store/opentest"
)

// TestTwoServersDeliverEachEventOnce checks that two senders on one database send each event once, if
// neither of them is stopped.
func TestTwoServersDeliverEachEventOnce(t *testing.T) {
	stores := opentest.Servers(t, 2)
	quiet := slog.New(slog.DiscardHandler)
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
	var benches []*bench
	for _, s := range stores {
		en := engine.New(engine.Config{Store: s, Logger: quiet})
		en.WebhookRules(tenants.WebhookPolicy{Loopback: true})
		b := &bench{TB: t, store: s, engine: en, sender: New(Config{Engine: en, Store: s, Hints: en.Hints, Network: Network{AllowLoopback: true}, Logger: quiet})}
		benches = append(benches, b)
	}
	b := benches[0]
	b.register(org)
	w, _ := b.webhook(e.URL, "agent.created")
	for _, b := range benches {
		running.Go(func() {
			if err := b.sender.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	for i := range events {
		benches[i%2].start() // also of the server that did not create the webhook
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
