package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/engine/tenants"
	"github.com/perdure/perdure/internal/store"
)

// orgReads is a store that counts reads of orgs. Each read takes some time.
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

// TestAnOrgIsReadOnceForAllItsRequests checks that 100 concurrent requests of an org read the org's
// row at most twice after the cached row has expired.
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
			time.Sleep(2 * tenants.OrgTTL)
			synctest.Wait()
			// When the requests arrive, one read is in progress. The next read serves all of them.
			if reads.n > 2*(round+1) {
				t.Fatalf("%d rounds of 100 requests read the org %d times", round+1, reads.n)
			}
		}
	})
}
