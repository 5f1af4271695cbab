package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/bubble"
	"github.com/perdure/perdure/internal/longtest"
)

// crowd is a group of workers and their executions. The test sends signals to the executions. The
// workers poll, cancel polls, and suspend executions with parked goroutines.
type crowd struct {
	*bench
	rnd     *rand.Rand
	workers []uuid.UUID
	polls   []openedPoll
	held    map[uuid.UUID]*holder // the claims of the workers, by execution
	fences  map[uuid.UUID]int64
}

type openedPoll struct {
	*waiting
	p perdure.Poll
}

// TestClaimsThatAreHandedOverGoToOnePoll checks that exactly one poll returns each claim. That poll
// belongs to the worker that the stored execution names as its claim's holder. The fence is greater
// than in the execution's previous claim. No claim is lost while polls are cancelled and workers
// become idle.
func TestClaimsThatAreHandedOverGoToOnePoll(t *testing.T) {
	longtest.Skip(t, "seconds")
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				c := &crowd{
					bench: newBench(t), rnd: rand.New(rand.NewPCG(seed, 0)),
					held: map[uuid.UUID]*holder{}, fences: map[uuid.UUID]int64{},
				}
				for range 3 {
					c.workers = append(c.workers, uuid.New())
				}
				for range 5 {
					c.start()
				}
				for step := range 60 {
					c.step(step)
				}
				for _, w := range c.polls {
					w.leave()
				}
				c.collect(true)
				c.check()
			})
		})
	}
}

func (c *crowd) step(n int) {
	switch c.rnd.IntN(7) {
	case 0, 1:
		p := c.poll(1 + c.rnd.IntN(2))
		p.WorkerID = c.workers[c.rnd.IntN(len(c.workers))]
		c.polls = append(c.polls, openedPoll{c.waits(c.d, p), p})
	case 2:
		if len(c.polls) > 0 {
			go c.signalOne(n) // the signal arrives while the poll is cancelled
			c.polls[c.rnd.IntN(len(c.polls))].leave()
		}
	case 3:
		for _, worker := range c.workers {
			c.e.drains.Polled(worker, nil, nil, c.s.Now())
		}
		if c.rnd.IntN(2) == 0 {
			c.drains(c.workers[c.rnd.IntN(len(c.workers))])
		}
	case 4:
		for _, id := range c.claimable() {
			if h := c.held[id]; h != nil && c.parked(h) {
				delete(c.held, id)
				break
			}
		}
	default:
		go c.signalOne(n)
	}
	synctest.Wait()
	c.collect(false)
	c.check()
}

func (c *crowd) signalOne(n int) {
	ids := c.claimable()
	c.signal(ids[n%len(ids)], "go", fmt.Sprint(n))
}

// parked takes the pending signals and suspends the execution. The commit reports that the worker
// keeps the goroutine.
func (c *crowd) parked(h *holder) bool {
	pending, err := c.s.PendingSignals(c.Context(), h.id, []string{"**"}, 0, 100)
	c.must(err)
	return h.commit(func(k *perdure.Commit) {
		suspending(perdure.WaitSignal("go"))(k)
		for _, s := range pending {
			k.Take = append(k.Take, s.ID)
		}
		k.Retained = &perdure.RetainedState{WorkerID: *h.execution(h.id).WorkerID, At: perdure.CommitNumber{Fence: k.Lease.Fence, Number: k.Number, ClaimID: k.Lease.ClaimID}}
	}).Suspended
}

// collect reads the results of the polls that have ended. If the parameter `all` is true, it waits
// for every poll.
func (c *crowd) collect(all bool) {
	c.Helper()
	open := c.polls
	c.polls = nil
	for _, w := range open {
		p := w.p
		var claims []perdure.AgentClaim
		if all {
			claims = <-w.claims
		} else {
			select {
			case claims = <-w.claims:
			default:
				c.polls = append(c.polls, w)
				continue
			}
		}
		if len(claims) > p.Slots {
			c.Errorf("a poll with %d slots got %d claims", p.Slots, len(claims))
		}
		for _, claim := range claims {
			id := claim.Lease.ExecutionID
			if claim.Lease.Fence <= c.fences[id] {
				c.Errorf("execution %s was given with fence %d after %d", id, claim.Lease.Fence, c.fences[id])
			}
			if x := c.execution(id); x.WorkerID == nil || *x.WorkerID != p.WorkerID {
				c.Errorf("execution %s was given to a worker whose it is not", id)
			}
			c.fences[id] = claim.Lease.Fence
			c.held[id] = &holder{bench: c.bench, claim: claim, id: id}
		}
	}
}

// check fails the test for each RUNNING execution whose claim no worker received.
func (c *crowd) check() {
	c.Helper()
	for _, id := range c.claimable() {
		if x := c.execution(id); x.Status == perdure.StatusRunning && c.held[id] == nil {
			c.Errorf("execution %s is claimed with fence %d, and nobody has it", id, x.Fence)
		}
	}
	c.clock.advance(time.Millisecond)
}
