package server_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/longtest"
	"github.com/perdure/perdure/server"
)

// TestTakeoversAreCounted checks that one takeover and one lost lease are counted when a worker stops
// answering and another worker claims its execution. A first claim, and a claim after a wait, do not
// count.
func TestTakeoversAreCounted(t *testing.T) {
	longtest.Skip(t, "seconds")
	eachStore(t, func(t *testing.T, c server.Config) {
		c.Lease = time.Second
		o := observe(t, c)
		d := o.server.Dispatch(server.DevOrg)
		claim := func(worker uuid.UUID) perdure.AgentClaim {
			t.Helper()
			claims, err := d.PollAgents(t.Context(), perdure.Poll{WorkerID: worker, Queues: []string{"default"}, Kinds: []string{"agent"}, Slots: 1, Wait: time.Minute})
			if err != nil || len(claims) != 1 {
				t.Fatalf("%d claims, %v", len(claims), err)
			}
			return claims[0]
		}
		silent, other := uuid.New(), uuid.New()
		for _, worker := range []uuid.UUID{silent, other} {
			_, err := d.Register(t.Context(), perdure.Registration{WorkerID: worker, Queues: []string{"default"}, Agents: []perdure.KindSpec{{Kind: "agent"}}})
			if err != nil {
				t.Fatal(err)
			}
		}
		x, err := o.client.Start(t.Context(), client.StartRequest{Kind: "agent"})
		if err != nil {
			t.Fatal(err)
		}
		first := claim(silent)
		wait := perdure.WaitSignal("go")
		suspend := perdure.Commit{Lease: first.Lease, Number: 1, Outcome: perdure.Outcome{Kind: perdure.OutcomeSuspend, Wait: &wait}}
		if _, err := d.Commit(t.Context(), suspend); err != nil {
			t.Fatal(err)
		}
		if _, err := o.client.Signal(t.Context(), x.ID, client.SignalRequest{Name: "go"}); err != nil {
			t.Fatal(err)
		}
		claim(silent)
		counted := func(want float64) {
			t.Helper()
			got := o.scrape()
			for _, sample := range []string{"perdure_takeovers_total{}", "perdure_leases_lost_total{work=execution}"} {
				if got[sample] != want {
					t.Errorf("%s is %v, want %v", sample, got[sample], want)
				}
			}
		}
		counted(0)
		if taken := claim(other); taken.Lease.ExecutionID != x.ID || taken.Lease.Fence <= first.Lease.Fence {
			t.Fatalf("claimed %+v after %+v", taken.Lease, first.Lease)
		}
		counted(1)
	})
}
