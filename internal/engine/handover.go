package engine

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// If a worker keeps the goroutine of a suspended execution, the decision that wakes the execution
// can claim it for that worker. This is a handover. It needs an open poll of the worker on this
// server, which then returns the claim. Otherwise the execution becomes PENDING, and polls claim
// it.
//
// A slot of the poll is reserved before the decision is made, and a poll does not end while a slot
// of it is reserved. A handover is therefore as safe as a claim by the poll itself.

// openPoll is an open poll for executions. The mutex of keeperBoard guards the fields after began.
type openPoll struct {
	org   string
	p     perdure.Poll
	began time.Time

	resting  bool // waits for hints: its slots are free for handovers
	reserved int
	given    []perdure.AgentClaim
	handed   chan struct{} // holds a token if given may have claims
	settled  chan struct{} // holds a token if no place is reserved
}

// handover is a reserved slot of a poll.
type handover struct {
	to *openPoll
	rules.Handover
}

// decision returns the part of the handover that the decision reads; nil for a nil handover.
func (h *handover) decision() *rules.Handover {
	if h == nil {
		return nil
	}
	return &h.Handover
}

// reserve reserves a slot in an open poll of the worker that keeps the execution's goroutine. It
// returns nil if there is no such poll or slot. The caller must call settle with the result.
func (e *Engine) reserve(ctx context.Context, org string, execution uuid.UUID) *handover {
	if !e.Claims(ctx, org) {
		return nil
	}
	paused, err := e.PausedQueues(ctx, org)
	if err != nil {
		return nil
	}
	b := &e.keepers
	b.mu.Lock()
	defer b.mu.Unlock()
	worker, kept := b.keeper[execution]
	if !kept || e.drains.draining(worker, e.Store.Now()) {
		return nil
	}
	p := b.workers[worker]
	for _, o := range p.polls {
		if o.org == org && o.resting && o.reserved < o.p.Slots {
			o.reserved++
			k := p.keeps[execution]
			poll := o.p
			poll.Queues = without(poll.Queues, paused)
			return &handover{o, rules.Handover{Poll: poll, Claim: uuid.New(), Kept: k.Kept, Whole: k.whole, Waited: since(o.began)}}
		}
	}
	return nil
}

// settle ends the reservation. If the decision has made a claim, settle passes it to the poll. A
// claim that cannot be read is released.
func (e *Engine) settle(ctx context.Context, h *handover, w *rules.Woken) {
	if h == nil {
		return
	}
	var claim *perdure.AgentClaim
	if w != nil {
		ctx = context.WithoutCancel(ctx)
		e.keepers.resumed(w.Execution.ID)
		var err error
		if claim, err = e.claimOf(ctx, w); err != nil {
			e.Logger.Warn("a claim could not be read, and is given back", "execution", w.Execution.ID, "error", err)
			e.giveBack(ctx, w.Execution.Org, agentBack(h.to.p.WorkerID, perdure.Lease{ExecutionID: w.Execution.ID, Fence: w.Execution.Fence, ClaimID: w.Execution.ClaimID}))
		}
	}
	e.keepers.mu.Lock()
	defer e.keepers.mu.Unlock()
	o := h.to
	o.reserved--
	if claim != nil {
		o.given = append(o.given, *claim)
		o.resting = false
		nudge(o.handed)
	}
	if o.reserved == 0 {
		nudge(o.settled)
	}
}

func nudge(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // there is a token already
	}
}

// rest marks the poll as waiting, so that executions can be handed over to it.
func (b *keeperBoard) rest(o *openPoll) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.resting = true
}

// rise marks the poll as not waiting, waits until none of its slots is reserved, and returns the
// claims that were handed over.
func (b *keeperBoard) rise(o *openPoll) []perdure.AgentClaim {
	b.mu.Lock()
	o.resting = false
	for o.reserved > 0 {
		b.mu.Unlock()
		<-o.settled
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	given := o.given
	o.given = nil
	return given
}

// untilClaimed polls for executions until it has a claim, p.Wait is over or ctx ends. It also
// returns claims that are handed over.
func (e *Engine) untilClaimed(ctx context.Context, o *openPoll, topics []string, try func(context.Context) ([]perdure.AgentClaim, time.Duration, error)) ([]perdure.AgentClaim, error) {
	look := func(ctx context.Context) ([]perdure.AgentClaim, time.Duration, error) {
		if given := e.keepers.rise(o); len(given) > 0 {
			return given, 0, nil
		}
		claims, soon, err := try(ctx)
		if err == nil && len(claims) == 0 {
			e.keepers.rest(o)
		}
		return claims, soon, err
	}
	claims, err := poll(ctx, e, o.p, topics, o.handed, look)
	if len(claims) == 0 && err == nil {
		claims = e.keepers.rise(o)
	}
	return claims, err
}
