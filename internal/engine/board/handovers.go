package board

import (
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

// Poll is an open poll of a worker for executions. The mutex of Keepers guards the fields that
// follow org.
type Poll struct {
	perdure.Poll
	Began time.Time
	org   string

	resting  bool // the poll waits for hints, so executions can be handed over to it
	reserved int
	given    []perdure.AgentClaim
	handed   chan struct{} // holds a token if the field given may have claims
	settled  chan struct{} // holds a token if no slot of the poll is reserved
}

// Handed returns a channel that has a value if claims may have been handed over to the poll since the
// last receive.
func (o *Poll) Handed() <-chan struct{} { return o.handed }

// Slot is room for one claim, reserved in an open poll. If a command wakes an execution, the
// command can put the claim into the slot, and the poll then returns that claim.
type Slot struct {
	to *Poll
	rules.Handover
}

// Began returns the time at which the poll began.
func (h *Slot) Began() time.Time { return h.to.Began }

// Decision returns the part of the slot that functions of package rules read; nil for a nil slot.
func (h *Slot) Decision() *rules.Handover {
	if h == nil {
		return nil
	}
	return &h.Handover
}

// Reserve reserves a slot in an open poll of the worker that keeps the execution's goroutine. It
// returns nil if there is no such poll or no free slot, or if the worker is to become idle (see
// [Drains]). If the result is not nil, the caller must pass it to Settle.
func (b *Keepers) Reserve(org string, execution uuid.UUID, drains *Drains) *Slot {
	b.mu.Lock()
	defer b.mu.Unlock()
	worker, kept := b.keeper[execution]
	if !kept || drains.Draining(worker, b.clock.Now()) {
		return nil
	}
	p := b.workers[worker]
	for _, o := range p.polls {
		if o.org == org && o.resting && o.reserved < o.Slots {
			o.reserved++
			k := p.keeps[execution]
			return &Slot{o, rules.Handover{Poll: o.Poll, Claim: uuid.New(), Kept: k.RetainedState, Whole: k.whole}}
		}
	}
	return nil
}

// Settle ends the reservation of the slot h. If claim is not nil, Settle passes the claim to the
// slot's poll, which returns the claim to the worker.
func (b *Keepers) Settle(h *Slot, claim *perdure.AgentClaim) {
	b.mu.Lock()
	defer b.mu.Unlock()
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

// Rest marks the poll as waiting for hints. From then on, executions can be handed over to the
// poll.
func (b *Keepers) Rest(o *Poll) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o.resting = true
}

// Rise marks the poll as not waiting. It then waits until none of the poll's slots is reserved, and
// returns the claims that were handed over to the poll.
func (b *Keepers) Rise(o *Poll) []perdure.AgentClaim {
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
