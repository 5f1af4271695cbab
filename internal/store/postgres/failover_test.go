package postgres

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store/postgres/cluster"
	"github.com/perdure/perdure/internal/store/storetest/invariants"
)

// restartingStore contains a store. After the store has called Fatal, restartingStore opens the
// store again, as a supervisor restarts a server.
type restartingStore struct {
	t     *testing.T
	url   string
	mu    sync.Mutex // guards the fields below
	s     *Store
	told  chan error // errors passed to Fatal
	times int
}

func (r *restartingStore) open() {
	r.told = make(chan error, 2)
	s, err := Open(context.WithoutCancel(r.t.Context()), Options{without: optimizations{texts: true}, URL: r.url, Logger: quiet, Fatal: func(err error) { r.told <- err }})
	if err != nil {
		r.t.Fatal(err)
	}
	r.s = s
}

// store returns the current store.
func (r *restartingStore) store() *Store {
	r.mu.Lock()
	defer r.mu.Unlock()
	select {
	case <-r.told:
		r.times++
		if err := r.s.Close(); err != nil {
			r.t.Logf("what is left of the old store: %v", err)
		}
		r.open()
	default:
	}
	return r.s
}

// TestStandbyTakesOver checks that confirmed writes survive when a synchronous standby is promoted
// in the middle of writes. Unconfirmed writes must be done once when they are retried. The server
// must detect that the database has a new history.
func TestStandbyTakesOver(t *testing.T) {
	primary, standby := pair(t)
	if err := primary.Synchronous(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), Options{without: optimizations{texts: true}, URL: standby.URL("postgres"), Logger: quiet})
	if !perdure.IsCode(err, perdure.Unavailable) || !strings.Contains(err.Error(), "standby") {
		t.Errorf("a standby alone gives %v", err)
	}
	r := &restartingStore{t: t, url: cluster.Both(primary, standby, "postgres")}
	r.open()
	defer func() {
		if err := r.s.Close(); err != nil {
			t.Error(err)
		}
	}()
	before := r.s.Epoch()
	ids := []uuid.UUID{begin(t, r.s), begin(t, r.s), begin(t, r.s)}
	const writers, each = 8, 40
	half := make(chan struct{}, writers*each)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range each {
				id := uuid.New()
				for {
					err := note(context.WithoutCancel(t.Context()), r.store(), ids[(i+n)%3], id)
					if err == nil {
						break
					}
					if !perdure.IsCode(err, perdure.Unavailable) {
						t.Errorf("a write: %v", err)
						return
					}
				}
				half <- struct{}{}
			}
		})
	}
	for range writers * each / 2 {
		<-half
	}
	if err := primary.Crash(); err != nil {
		t.Error(err)
	}
	if err := standby.Promote(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	s := r.store()
	total := int64(0)
	for _, id := range ids {
		x, err := s.Execution(t.Context(), org, id)
		if err != nil {
			t.Fatal(err)
		}
		noted(t, s, id, x.EntryCount)
		total += x.EntryCount
	}
	if total != writers*each {
		t.Errorf("%d notes were answered, %d are stored", writers*each, total)
	}
	if r.times != 1 || s.Epoch() == before {
		t.Errorf("the server was told %d times, the epoch was %d and is %d", r.times, before, s.Epoch())
	}
	invariants.Check(t, s)
}

// pair starts a PostgreSQL cluster and a standby of it.
func pair(t *testing.T) (primary, standby *cluster.Cluster) {
	t.Helper()
	start := func(start func() (*cluster.Cluster, error)) *cluster.Cluster {
		c, err := start()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := c.Stop(); err != nil {
				t.Error(err)
			}
		})
		return c
	}
	primary = start(func() (*cluster.Cluster, error) { return cluster.Start() })
	return primary, start(primary.Standby)
}
