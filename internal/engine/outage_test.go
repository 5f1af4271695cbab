package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/internal/store"
	"github.com/perdure/perdure/internal/store/storetest"
)

// TestServerIsQuietAfterTheStoreRefused checks a store that refuses writes for longer than a lease,
// as on a full disk. The server treats that like an outage: when writes succeed again, a worker can
// still renew its lease.
func TestServerIsQuietAfterTheStoreRefused(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newBench(t)
		h := b.started()
		b.e.Logger = slog.New(slog.DiscardHandler)
		var full atomic.Bool
		b.e.Store = &storetest.Faults{Store: b.s, Plan: func(_ int, c store.Command) storetest.Fault {
			// Of the commands that the test runs while the disk is full, only these two write, so
			// only these two fail.
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

// TestQuestionsExpireAfterAnOutage checks that a question that was asked before the start of a
// server stays open until rules.ExpiryGrace after the start, so that people can still answer it. A
// question that was asked after the start expires at its own time, even if it was asked before the
// first sweep.
func TestQuestionsExpireAfterAnOutage(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, before := range map[string]bool{"asked before the server was opened": true, "asked before the sweeps begin": false} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newBench(t)
				h := b.started()
				h.commit(func(c *perdure.Commit) {
					c.Questions = []perdure.NewQuestion{{Key: "q", DetailsSHA256: perdure.DetailsHash(perdure.QuestionInput, "", nil), ExpiresAfter: time.Second, QuestionTerms: perdure.QuestionTerms{
						Kind: perdure.QuestionInput, Prompt: "Which?", Schema: []byte(`{"type":"string"}`), OnExpiry: perdure.OnExpiryFail,
					}}}
				})
				b.clock.advance(time.Millisecond)
				if before {
					b.use(b.s)
				}
				ctx, stop := context.WithCancel(t.Context())
				over := make(chan error, 1)
				go func() { over <- b.e.Run(ctx) }()
				want := func(after, step time.Duration, status perdure.QuestionStatus) {
					t.Helper()
					for passed := time.Duration(0); passed < after; passed += step {
						time.Sleep(step)
						b.clock.advance(step)
					}
					time.Sleep(time.Second)
					q, err := b.s.Question(t.Context(), org, perdure.QuestionID(h.id, "q"))
					b.must(err)
					if q.Status != status {
						t.Errorf("after %s the question is %s, want %s", after, q.Status, status)
					}
				}
				if before {
					want(10*time.Second, time.Second, perdure.QuestionOpen)
					want(15*time.Minute, 20*time.Second, perdure.QuestionExpired)
				} else {
					want(2*time.Second, 100*time.Millisecond, perdure.QuestionExpired)
				}
				stop()
				b.must(<-over)
			})
		})
	}
}
