package engine

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// An execution whose goroutine a worker keeps is claimed for that worker by the
// very decision that wakes it, if the worker has a poll open on this server: the
// poll is answered with it. Otherwise it becomes PENDING, and polls find it.
//
// A place in the poll's answer is reserved before the decision is made, and a
// poll does not end while one is: so a claim that is made has somebody to go to,
// as one that a poll makes itself, and is lost by the same accidents only.

// openPoll is a poll for executions. What follows after p is guarded by the
// board's mu.
type openPoll struct {
	org   string
	p     perdure.Poll
	began time.Time

	resting  bool // waits for hints: its slots are free for what others hand over
	reserved int
	given    []perdure.AgentClaim
	handed   chan struct{} // holds a token if something may be given
	settled  chan struct{} // holds a token if nothing may be reserved any more
}

// handover is a reserved place in a poll's answer.
type handover struct {
	to    *openPoll
	claim uuid.UUID // id of the claim, if it is made
	kept  perdure.Kept
	// waited is how long the poll had waited when the place was taken.
	waited time.Duration
	whole  bool // kept is not known in full: the claim has to bring everything
}

// reserve takes a place in the answer of a poll of the worker that keeps the
// execution's goroutine; nil if there is none. It must be settled.
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

// needs adds what decides whether the handover can be.
func (h *handover) needs(n *store.Needs) {
	if h != nil {
		n.Worker = &h.to.p.WorkerID
	}
}

// take claims the execution that the draft has woken, if the poll may have it:
// the rules are those of decideClaim.
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

// settle gives the reserved place back, filled if the decision has made a claim.
// One that cannot be answered is given back to the store.
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
	default: // one token waits already
	}
}

// rest lets others hand executions over to the poll.
func (b *parkedBoard) rest(o *openPoll) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.resting = true
}

// rise ends that, and returns what was handed over meanwhile.
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

// untilClaimed waits for executions, looking when it is hinted to, until p.Wait is
// over or ctx ends. It subscribes before it looks, so that no hint falls between.
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
