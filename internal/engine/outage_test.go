package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

// TestServerIsQuietAfterTheStoreRefused checks that a server treats a store that refuses writes for
// longer than a lease, as on a full disk, like an outage. When writes succeed again, a worker can
// still renew its lease.
func TestServerIsQuietAfterTheStoreRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		b.e.Logger = slog.New(slog.DiscardHandler)
		var full atomic.Bool
		b.e.Store = &storetest.Faults{Store: b.s, Plan: func(_ int, c store.Command) storetest.Fault {
			// A command that writes nothing succeeds even on a full disk.
			if full.Load() && (c.Name == "renew" || c.Name == "reap agents") {
				return storetest.FailBefore
			}
			return storetest.NoFault
		}}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- b.e.Run(ctx) }()
		t.Cleanup(stop)
		beat := func() (perdure.HeartbeatReply, error) {
			return b.d.Heartbeat(t.Context(), perdure.Heartbeat{Agents: []perdure.Lease{h.claim.Lease}})
		}
		pass := func(leases int) {
			for i := range leases * 20 {
				time.Sleep(testLease / 20)
				b.clock.advance(testLease / 20)
				if i%6 == 5 {
					_, _ = beat()
				}
			}
		}
		pass(2)
		b.wantStatus(h.id, perdure.StatusRunning)
		full.Store(true)
		pass(3)
		full.Store(false)
		time.Sleep(testLease / 4) // until the next heartbeat
		b.clock.advance(testLease / 4)
		reply, err := beat()
		b.must(err)
		if reply.Agents[0].Lost {
			t.Error("the lease was lost")
		}
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}
