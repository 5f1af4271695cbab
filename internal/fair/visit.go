package fair

import (
	"context"
	"sync"
	"time"
)

// Visit is the use of the processors by one request. From Enter to Leave, the visit has a place,
// which is the permission to compute. In between, it has no place from a call of [Wait] until a
// call of the function that Wait returned. All methods may be called at any time, by several
// goroutines, and on a nil Visit.
type Visit struct {
	share *Share
	org   string

	mu    sync.Mutex
	state state
	since time.Time   // the time at which the visit got its place
	limit *time.Timer // calls leave once the visit has had its place for Share.Longest
}

type state int

const (
	outside state = iota
	taking        // the visit waits for a place in Enter
	inside
	waiting // the visit has released its place in Wait, and done was not yet called
	over
)

// Visit returns a new visit of the org, which has no place yet. It returns nil for a nil Share.
func (s *Share) Visit(org string) *Visit {
	if s == nil {
		return nil
	}
	return &Visit{share: s, org: org}
}

type key struct{}

// With returns a context that contains the visit. The functions Wait, Compute, Part and Charge use
// the visit that their context contains.
func With(ctx context.Context, v *Visit) context.Context { return context.WithValue(ctx, key{}, v) }

func of(ctx context.Context) *Visit {
	v, _ := ctx.Value(key{}).(*Visit)
	return v
}

// Again returns ctx with a new visit, for work that continues after a request, such as a stream.
// The parameter `request` is the context of that request; the new visit belongs to the same org.
func Again(ctx, request context.Context) context.Context {
	v := of(request)
	if v == nil {
		return ctx
	}
	return With(ctx, v.share.Visit(v.org))
}

// Admit waits until the org has a free place (a permission to compute), but does not take it. A
// server admits a request before it reads the request's body. Errors: those of Enter.
func (v *Visit) Admit(ctx context.Context) error {
	if err := v.enter(ctx, outside, true); err != nil {
		return err
	}
	if v != nil {
		v.leave(outside)
	}
	return nil
}

// Afford waits until the org's budget of processor time is positive, for at most two seconds, and
// takes no place. It is for requests that mostly wait, such as polls. Error: the cause of the end
// of ctx.
func (v *Visit) Afford(ctx context.Context) error {
	if v == nil || v.org == "" {
		return nil
	}
	for end := time.Now().Add(most); time.Now().Before(end); {
		pause := v.share.pause(v.org)
		if pause <= 0 {
			return nil
		}
		select {
		case <-time.After(min(pause, time.Until(end))):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Enter waits for a place, the permission to compute. Errors: rate_limited if too many requests of
// the org wait, and the cause of the end of ctx. After an error, the request must not compute.
func (v *Visit) Enter(ctx context.Context) error { return v.enter(ctx, outside, true) }

// Return is like Enter, for a visit that Admit or Enter has accepted before. It never returns
// rate_limited.
func (v *Visit) Return(ctx context.Context) error { return v.enter(ctx, outside, false) }

func (v *Visit) enter(ctx context.Context, from state, bounded bool) error {
	if v == nil || !v.move(from, taking) {
		return nil
	}
	if err := v.share.take(ctx, v.org, bounded); err != nil {
		v.move(taking, outside)
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != taking { // Leave was called in the meantime
		v.share.leave(v.org, 0)
		return nil
	}
	v.state = inside
	v.since = time.Now()
	v.limit = time.AfterFunc(v.share.Longest, func() { v.leave(outside) })
	return nil
}

func (v *Visit) move(from, to state) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != from {
		return false
	}
	v.state = to
	return true
}

// leave releases the visit's place and sets the visit's state. It reports whether the visit had a
// place. A visit without a place keeps its state, except that it can change to `over`.
func (v *Visit) leave(to state) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	had := v.state == inside
	if had {
		v.limit.Stop()
		v.share.leave(v.org, time.Since(v.since))
	}
	if had || to == over {
		v.state = to
	}
	return had
}

// Leave ends the visit and releases its place.
func (v *Visit) Leave() {
	if v != nil {
		v.leave(over)
	}
}

// PerByte is the approximate cost of receiving, copying and hashing one byte while the request has
// no place.
const PerByte = 4 * time.Nanosecond

// Charge subtracts a cost from the budget of the visit's org, for work that other goroutines do for
// the request, such as the commit of its commands.
func (v *Visit) Charge(cost time.Duration) {
	if v == nil || v.org == "" {
		return
	}
	v.share.mu.Lock()
	defer v.share.mu.Unlock()
	now := time.Now()
	v.share.charge(v.share.asks(v.org, now), cost, now)
}

// Charge subtracts a cost from the budget of the org to which the visit in ctx belongs. Without a
// visit in ctx it does nothing.
func Charge(ctx context.Context, cost time.Duration) { of(ctx).Charge(cost) }

// Wait releases the place of the context's visit while the caller waits for something other than
// the processor. After that, the caller must call `done`, which waits for a place again. Wait has
// no effect if the visit has no place.
func Wait(ctx context.Context) (done func()) {
	v := of(ctx)
	if v == nil || !v.leave(waiting) {
		return func() {}
	}
	// If ctx ends before the visit gets a place, the caller continues without one.
	return func() { _ = v.enter(ctx, waiting, false) }
}

// Compute waits for a place for later work of a request, for example when a stream reads more of a
// log. The caller must call `done`, which releases the place. Compute has no effect if the visit
// already has a place, or if the context has no visit.
func Compute(ctx context.Context) (done func()) {
	_, done = Part(ctx)
	return done
}

// Part waits for a place like Compute, for work that may itself wait, for example for the store. The
// work must use the returned context. A call of [Wait] in the work then releases the place that Part
// has taken, for as long as the work waits.
func Part(ctx context.Context) (part context.Context, done func()) {
	v := of(ctx)
	if v == nil || v.hasPlace() {
		return ctx, func() {}
	}
	own := v.share.Visit(v.org)
	_ = own.Return(ctx) // the caller notices the end of ctx itself
	return With(ctx, own), own.Leave
}

func (v *Visit) hasPlace() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state == inside || v.state == taking
}
