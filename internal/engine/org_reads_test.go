package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/store"
)

// orgReads counts reads of orgs; each takes a moment.
type orgReads struct {
	store.Store
	mu sync.Mutex
	n  int
}

func (o *orgReads) OrgByID(ctx context.Context, id string) (*perdure.Org, error) {
	time.Sleep(time.Millisecond)
	o.mu.Lock()
	o.n++
	o.mu.Unlock()
	return o.Store.OrgByID(ctx, id)
}

// All that an org does looks at its row. When what is remembered of it is too old, the
// requests of that moment share a read.
func TestAnOrgIsReadOnceForAllItsRequests(t *testing.T) {
	b := newBench(t)
	bubble.Test(t, func(t *testing.T) {
		reads := &orgReads{Store: b.s}
		b.use(reads)
		for round := range 3 {
			for range 100 {
				go func() {
					if err := b.e.OrgWorks(t.Context(), org); err != nil {
						t.Error(err)
					}
				}()
			}
			time.Sleep(2 * orgTTL)
			synctest.Wait()
			// One runs when the others come; the next has all of those.
			if reads.n > 2*(round+1) {
				t.Fatalf("%d rounds of 100 requests read the org %d times", round+1, reads.n)
			}
		}
	})
}
