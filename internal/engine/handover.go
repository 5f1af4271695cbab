package engine

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// If a worker keeps the goroutine of a suspended execution, the decision that wakes the execution
// can claim it for that worker. This needs an open poll of the worker on this server; the poll
// returns the claim. Otherwise the execution becomes PENDING, and polls claim it.
//
// A place in the poll's answer is reserved before the decision is made, and a poll does not end
// while it has a reserved place. A claim by handover is therefore as safe as a claim by the poll
// itself.

// openPoll is an open poll for executions. The mutex of parkedBoard guards the fields after began.
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

// handover is a reserved place in a poll's answer.
type handover struct {
	to    *openPoll
	claim uuid.UUID // id of the claim, if it is made
	kept  perdure.Kept
	// waited is how long the poll had waited when the place was reserved.
	waited time.Duration
	whole  bool // kept is not completely known: the claim must contain everything
}

// reserve reserves a place in a poll's answer of the worker that keeps the execution's goroutine.
// It returns nil if there is none. The caller must call settle with the result.
func (e *Engine) reserve(ctx context.Context, org string, execution uuid.UUID) *handover {
	if !e.claims(ctx, org) {
		return nil
	}
	b := &e.parked
	b.mu.Lock()
	defer b.mu.Unlock()
	worker, kept := b.keeper[execution]
	if !kept || e.alone.drains(worker, e.Store.Now()) {
		return nil
	}
	p := b.workers[worker]
	for _, o := range p.polls {
		if o.org == org && o.resting && o.reserved < o.p.Slots {
			o.reserved++
			k := p.keeps[execution]
			return &handover{to: o, claim: uuid.New(), kept: k.Kept, whole: k.whole, waited: since(o.began)}
		}
	}
	return nil
}

// needs adds the state that the handover is decided on.
func (h *handover) needs(n *store.Needs) {
	if h != nil {
		n.Worker = &h.to.p.WorkerID
	}
}

// take claims the execution that the draft has woken, if the poll may claim it. The rules are those
// of decideClaim.
func (h *handover) take(e *Engine, d *draft, signal *perdure.Signal) {
	if h == nil {
		return
	}
	p := h.to.p
	if !lastCommit(d.x).Same(h.kept.At) || d.s.Holds.Alone || mustBeAlone(d.x) || !mayClaim(d.x, p.WorkerID, p.Local) ||
		!slices.Contains(p.Queues, d.x.Queue) || !slices.Contains(p.Kinds, d.x.Kind) {
		return
	}
	d.claimFor(p.WorkerID, h.claim, p.Embedded, d.s.Now.Add(e.Lease))
	d.woken = &woken{signal: signal, waited: h.waited}
	if !h.whole {
		d.woken.kept = &h.kept
	}
}

// settle ends the reservation. If the decision has made a claim, the poll returns it. A claim that
// cannot be read is given back to the store.
func (e *Engine) settle(ctx context.Context, h *handover, w *woken) {
	if h == nil {
		return
	}
	var claim *perdure.AgentClaim
	if w != nil {
		ctx = context.WithoutCancel(ctx)
		e.parked.resumed(w.execution.ID)
		var err error
		if claim, err = e.claimOf(ctx, w); err != nil {
			e.Logger.Warn("a claim could not be read, and is given back", "execution", w.execution.ID, "error", err)
			e.giveBack(ctx, w.execution.Org, agentBack(h.to.p.WorkerID, perdure.Lease{ExecutionID: w.execution.ID, Fence: w.execution.Fence, ClaimID: w.execution.ClaimID}))
		}
	}
	e.parked.mu.Lock()
	defer e.parked.mu.Unlock()
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
func (b *parkedBoard) rest(o *openPoll) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.resting = true
}

// rise ends the waiting, waits until no place is reserved, and returns the claims that were handed
// over.
func (b *parkedBoard) rise(o *openPoll) []perdure.AgentClaim {
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
		if given := e.parked.rise(o); len(given) > 0 {
			return given, 0, nil
		}
		claims, soon, err := try(ctx)
		if err == nil && len(claims) == 0 {
			e.parked.rest(o)
		}
		return claims, soon, err
	}
	claims, err := poll(ctx, e, o.p, topics, o.handed, look)
	if len(claims) == 0 && err == nil {
		claims = e.parked.rise(o)
	}
	return claims, err
}
