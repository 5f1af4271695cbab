package worker

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/agent"
)

// TestClaimThatComesAfterItsLeaseIsNotBegun checks a claim of a task that arrives after its lease
// has expired. The worker does not begin the attempt, because another worker may have the task.
// Only the next attempt runs. The late claim comes with a poll or with the reply to a commit.
func TestClaimThatComesAfterItsLeaseIsNotBegun(t *testing.T) {
	for name, at := range map[string]func(*faulty, func()){
		"a poll's": func(f *faulty, stop func()) { f.onTasks = func([]perdure.TaskClaim) { stop() } },
		"a commit's": func(f *faulty, stop func()) {
			f.onCommit = func(_ perdure.Commit, r *perdure.CommitReply) error {
				if len(r.Claims) > 0 {
					stop()
				}
				return nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			const lease = time.Minute
			b := newBench(t, lease)
			var ahead atomic.Int64
			var mu sync.Mutex
			var attempts []int
			b.task("tool", func(ctx agent.TaskContext, _ int) (int, error) {
				mu.Lock()
				defer mu.Unlock()
				attempts = append(attempts, ctx.Task().Attempt)
				return 1, nil
			})
			b.agent("a", func(ctx agent.Context) (string, error) {
				_, err := agent.Call[int](ctx, "tool", 1, agent.OnLost(perdure.OnLostReport))
				return "fine", err
			})
			f := &faulty{}
			at(f, sync.OnceFunc(func() { ahead.Add(int64(2 * lease)) }))
			b.work(b.overFaulty(f), func(c *Config) {
				c.Clock = func() time.Duration { return bootTime() + time.Duration(ahead.Load()) }
				if f.onTasks != nil {
					c.Tasks = 1 // the first poll takes the only slot
				}
			})
			b.output(b.start("a"), "fine")
			mu.Lock()
			defer mu.Unlock()
			if len(attempts) != 1 || attempts[0] == 1 {
				t.Errorf("the attempts that ran are %v, want a later one alone", attempts)
			}
		})
	}
}

// TestWhatIsLeftOfAClaimsLease checks how much of its lease a claim has left. That is the lease's
// duration minus the time since the request was sent, plus the time for which the server held the
// request.
func TestWhatIsLeftOfAClaimsLease(t *testing.T) {
	now := time.Hour
	w := New(Config{Clock: func() time.Duration { return now }})
	w.settings.Lease = 10 * time.Second
	for _, test := range []struct {
		waited, gone, left time.Duration
		late, over         bool
	}{
		{0, 0, 10 * time.Second, false, false},
		{20 * time.Second, 20 * time.Second, 10 * time.Second, false, false},
		{20 * time.Second, 23 * time.Second, 7 * time.Second, false, false},
		{20 * time.Second, 29 * time.Second, time.Second, true, false},
		{20 * time.Second, 50 * time.Second, 0, true, true},
		{20 * time.Second, 19 * time.Second, 10 * time.Second, false, false}, // clocks differ
	} {
		c := perdure.TaskClaim{LeaseFor: 10 * time.Second, Waited: test.waited}
		w.dateTask(&c, now-test.gone)
		clock := w.newLease(c.LeaseFor)
		if c.LeaseFor != test.left || clock.late() != test.late || clock.over() != test.over {
			t.Errorf("waited %s, gone %s: left %s, late %v, over %v", test.waited, test.gone, c.LeaseFor, clock.late(), clock.over())
		}
	}
}
