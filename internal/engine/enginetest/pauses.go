package enginetest

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/store"
)

// Pauses checks that servers that share a database agree which queues are paused. No server hands out
// work of a queue that another server has paused. A poll on one server gets the work of a queue that
// another server has resumed. All servers list the same queues and workers.
func Pauses(t *testing.T, stores []store.Store) {
	var all []*fixture
	for _, s := range stores {
		e := engine.New(engine.Config{Store: s, Lease: lease, CancelGrace: grace})
		all = append(all, &fixture{t, e, s, e.Dispatch(org, false)})
	}
	a, b := all[0], all[1]
	a.must(register(t.Context(), a.d))
	_, err := a.e.PauseQueue(t.Context(), org, "default")
	a.must(err)
	a.start()
	b.e.ForgetPauses() // a hint has the same effect
	for _, f := range all {
		claims, err := f.d.PollAgents(t.Context(), pollFor(1, 0))
		f.must(err)
		if len(claims) > 0 {
			t.Fatal("an execution of a paused queue was claimed")
		}
		queues, _, err := f.e.Queues(t.Context(), org, "", 10)
		f.must(err)
		if len(queues) != 1 || !queues[0].Paused || queues[0].Waiting != 1 {
			t.Errorf("the queues: %+v", queues)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	claimed := make(chan int)
	go func() {
		claims, err := b.d.PollAgents(ctx, pollFor(1, time.Minute))
		if err != nil {
			t.Error(err)
		}
		claimed <- len(claims)
	}()
	a.must(a.e.ResumeQueue(t.Context(), org, "default"))
	if n := <-claimed; n != 1 {
		t.Errorf("the other server claimed %d executions after the pause, want 1", n)
	}
}
