// Package fair divides a server's processor among orgs. Go runs goroutines in the
// order in which they become ready, whosever they are, so that an org with many
// requests under way would have nearly all of the processor. While a request computes
// it has a place of its org; an org beside others has few of them.
package fair

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/store/turns"
)

// Share has the places of all orgs. A nil Share bounds nothing.
type Share struct {
	// Longest is how long a visit keeps a place at most, one second by default. What
	// computes longer, or waits where nobody expected it to wait, keeps no other
	// request of its org out. It is set before the first visit.
	Longest time.Duration

	turns *turns.Turns
}

// enough is more places than there are requests.
const enough = 1 << 20

// New returns a share of so many processors. An org that has company may compute on
// half of them at once, and on one at least; alone it may have all.
func New(processors int) *Share {
	return &Share{Longest: time.Second, turns: turns.New(enough, processors/2)}
}

// Waiting returns how many visits wait for a place.
func (s *Share) Waiting() int { return s.turns.Waiting() }

// Visit is a request's. It has a place of its org between Enter and Leave, but for the
// waits in between. All its methods may be called at any time, by several goroutines,
// and on nil.
type Visit struct {
	share *Share
	org   string

	mu    sync.Mutex
	state state
	limit *time.Timer // ends the time with a place
}

type state int

const (
	outside state = iota
	taking        // a place
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

// With returns a context that knows the visit, for Wait.
func With(ctx context.Context, v *Visit) context.Context { return context.WithValue(ctx, key{}, v) }

// Enter waits for a place. Without one the visit continues when ctx ends: whoever serves
// the request finds that out by itself.
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

// leave gives the place up, if there is one, and reports whether there was.
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

// Leave gives the place up for good.
func (v *Visit) Leave() {
	if v != nil {
		v.leave(over)
	}
}

// Wait returns the place of the context's visit up while the caller waits for something
// that costs no time of the processor. The function that it returns is called after
// that, and waits for a place again. A caller that has none, or whose visit waits
// already, notices nothing.
func Wait(ctx context.Context) (done func()) {
	v, _ := ctx.Value(key{}).(*Visit)
	if v == nil || !v.leave(waiting) {
		return func() {}
	}
	return func() { v.enter(ctx, waiting) }
}

// Compute waits for a place for a part of a request that continues after its visit: a
// stream reads more of a log. The function that it returns gives the place up. A caller
// whose visit has a place, or that has none to visit by, notices nothing.
func Compute(ctx context.Context) (done func()) {
	_, done = Part(ctx)
	return done
}

// Part is Compute for a part that may have to wait in between: a message of a WebSocket
// is stored. In the context that it returns, Wait gives the part's place up.
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
