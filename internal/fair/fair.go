// Package fair divides a server's processor among orgs. Go runs goroutines in the order in which
// they become ready. An org with many concurrent requests would therefore get nearly all of the
// processor. A request needs a place of its org while it computes. An org has few places while
// other orgs have requests, too.
package fair

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/store/turns"
)

// Share holds the places of all orgs. A nil Share limits nothing.
type Share struct {
	// Longest is the longest time that a visit keeps a place; default one second. A visit that
	// computes longer, or blocks unexpectedly, then no longer blocks other requests of its org. Set
	// it before the first visit.
	Longest time.Duration

	turns *turns.Turns
}

// enough is larger than any number of concurrent requests.
const enough = 1 << 20

// New creates a Share for so many processors. While other orgs have requests, an org may use half
// of the processors, and at least one. Otherwise it may use all.
func New(processors int) *Share {
	return &Share{Longest: time.Second, turns: turns.New(enough, processors/2)}
}

// Waiting returns the number of visits that wait for a place.
func (s *Share) Waiting() int { return s.turns.Waiting() }

// Visit belongs to one request. It has a place of its org between Enter and Leave, except during
// waits. All methods may be called at any time, by several goroutines, and on nil.
type Visit struct {
	share *Share
	org   string

	mu    sync.Mutex
	state state
	limit *time.Timer // ends the use of the place after Longest
}

type state int

const (
	outside state = iota
	taking        // waits for a place
	inside
	waiting // in Wait
	over
)

// Visit returns a visit of the org, which has no place yet.
func (s *Share) Visit(org string) *Visit {
	if s == nil {
		return nil
	}
	return &Visit{share: s, org: org}
}

type key struct{}

// With returns a context with the visit, for Wait.
func With(ctx context.Context, v *Visit) context.Context { return context.WithValue(ctx, key{}, v) }

// Enter waits for a place. If ctx ends first, the visit continues without a place; the code that
// serves the request detects the end of ctx itself.
func (v *Visit) Enter(ctx context.Context) { v.enter(ctx, outside) }

func (v *Visit) enter(ctx context.Context, from state) {
	if v == nil || !v.move(from, taking) {
		return
	}
	if v.share.turns.Take(ctx, v.org) != nil {
		v.move(taking, outside)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.state != taking { // it has left meanwhile
		v.share.turns.Leave(v.org)
		return
	}
	v.state = inside
	v.limit = time.AfterFunc(v.share.Longest, func() { v.leave(outside) })
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

// leave releases the place, if there is one, and reports whether there was.
func (v *Visit) leave(to state) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	had := v.state == inside
	if had {
		v.limit.Stop()
		v.share.turns.Leave(v.org)
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

// Wait releases the place of the context's visit while the caller waits for something other than
// the processor. The caller calls done after the wait; done waits for a place again. Wait has no
// effect without a place, or if the visit is already waiting.
func Wait(ctx context.Context) (done func()) {
	v, _ := ctx.Value(key{}).(*Visit)
	if v == nil || !v.leave(waiting) {
		return func() {}
	}
	return func() { v.enter(ctx, waiting) }
}

// Compute waits for a place for a part of a request that continues after its visit, for example
// when a stream reads more of a log. done releases the place. Compute has no effect if the visit
// has a place, or if the context has no visit.
func Compute(ctx context.Context) (done func()) {
	_, done = Part(ctx)
	return done
}

// Part is like Compute, for a part that may wait in between, for example when a message of a
// WebSocket is stored. With the returned context, Wait releases the part's place.
func Part(ctx context.Context) (part context.Context, done func()) {
	v, _ := ctx.Value(key{}).(*Visit)
	if v == nil || v.hasPlace() {
		return ctx, func() {}
	}
	own := v.share.Visit(v.org)
	own.Enter(ctx)
	return With(ctx, own), own.Leave
}

func (v *Visit) hasPlace() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.state == inside || v.state == taking
}
