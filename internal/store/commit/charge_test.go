package commit

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/fair"
	"github.com/perdure/perdure/internal/store"
)

// TestCommandsAreCharged checks that the budget of the caller's org is charged for the number and
// the size of its commands, but not for the time in the queue.
func TestCommandsAreCharged(t *testing.T) {
	for _, c := range []struct {
		commands, bytes int
		waits           bool
	}{
		{100, 0, false}, {10_000, 0, true}, {1, 1 << 20, false}, {1, 100 << 20, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			q, share := NewQueue(), fair.New(2, 1)
			entered(t, share.Visit("busy")).Leave()
			ctx := fair.With(t.Context(), share.Visit("busy"))
			go func() {
				for call := q.Take(); call != nil; call = q.Take() {
					if c.commands == 1 {
						time.Sleep(time.Minute)
					}
					entered(t, share.Visit("other")).Leave()
					call[0].Answer(Outcome{})
				}
			}()
			for range c.commands {
				if _, err := q.Do(ctx, store.Command{Org: "busy", Bytes: c.bytes}); err != nil {
					t.Error(err)
				}
			}
			q.Close()
			began := time.Now()
			entered(t, share.Visit("busy")).Leave()
			if waited := time.Since(began) > 0; waited != c.waits {
				t.Errorf("after %d commands of %d bytes a request waits: %v", c.commands, c.bytes, waited)
			}
		})
	}
}

func entered(t *testing.T, v *fair.Visit) *fair.Visit {
	t.Helper()
	if err := v.Enter(t.Context()); err != nil {
		t.Error(err)
	}
	return v
}
