package enginetest

import (
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/engine/bulk"
	"github.com/perdure/perdure/internal/notify"
	"github.com/perdure/perdure/internal/store"
)

// BulkServers checks that servers that share a database continue the same bulk actions at the same
// time, and that each execution is handled exactly once in each action.
func BulkServers(t *testing.T, stores []store.Store) {
	var all []*fixture
	for _, s := range stores {
		e := engine.New(engine.Config{Store: s, Lease: lease, CancelGrace: grace, Hints: &notify.Local{Shared: true}})
		all = append(all, &fixture{t, e, s, e.Dispatch(org, false)})
	}
	a := all[0]
	a.must(register(t.Context(), a.d))
	const runs = 60
	for range runs {
		a.start()
	}
	var actions []uuid.UUID
	for range 2 {
		action, err := a.e.Bulk.Start(t.Context(), org, bulk.Request{Action: perdure.BulkCancel})
		a.must(err)
		actions = append(actions, action.ID)
	}
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(func() {
			if err := f.e.Bulk.Sweep(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	done := 0
	for _, id := range actions {
		action, err := a.s.BulkAction(t.Context(), org, id)
		a.must(err)
		if action.Status != perdure.BulkCompleted || action.Handled() != runs || action.Failed > 0 {
			t.Errorf("the action: %+v", action)
		}
		done += action.Done
	}
	if done != runs {
		t.Errorf("%d executions were cancelled, want %d", done, runs)
	}
}
