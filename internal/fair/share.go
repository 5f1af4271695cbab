// Package fair divides a server's processors among orgs. Go runs goroutines in the order in which
// they become runnable. An org with many concurrent requests would therefore get nearly all of the
// processors.
//
// A request must have a place while it computes. A place is a permission to compute; each org has a
// number of them. A [Visit] is one request's use of places.
//
// While other orgs are active, an org has few places, and a budget of time. The time for which its
// requests have places is subtracted from the budget, and no request of the org gets a place until
// the budget is positive. If only one org is active, it has no limit.
package fair

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

const (
	// lately is the time for which an org counts as active after a request.
	lately = time.Second
	// burst is the maximum budget of an org.
	burst = 100 * time.Millisecond
	// most is the maximum debt of an org. A budget can become negative, because the computing time
	// of a request is charged only when its visit gives up its place.
	most = 2 * time.Second
	// look is the interval at which the growth rate of the budgets is computed. While visits of an
	// org wait, the org's budget is examined at least this often.
	look = 50 * time.Millisecond
)

// Share contains the places and the budgets of all orgs. A place is the permission of a request to
// compute; a budget is the time for which an org may use its places. A nil Share limits nothing.
type Share struct {
	// Longest is the maximum time for which a visit (one request's use of the processors) has a
	// place; default one second. A visit that computes longer, or blocks unexpectedly, loses its
	// place and so does not block other requests of its org. Longest must be set before the first
	// visit.
	Longest time.Duration
	// Queue is the maximum number of requests of one org that wait for their first place; default
	// 10,000. Further requests are refused. Queue must be set before the first visit.
	Queue int

	places   int         // number of places of one org while other orgs are active
	all      float64     // number of processors
	capacity float64     // number of processors that are always divided equally among the active orgs
	pressed  func() bool // reports whether goroutines have waited too long for a processor

	mu       sync.Mutex // guards the fields below
	scale    scale
	accounts map[string]*account
	busy     int // number of orgs with visits that have a place or wait for one
	waiting  int // number of visits that wait for a place
	last     ask // last is the latest visit or charge; other is the latest one of another org
	other    ask
	rate     float64   // seconds that each budget gains per second
	rated    time.Time // when the field rate was computed
}

type ask struct {
	org string
	at  time.Time
}

// New creates a Share for a number of processors. The parameter `percent` is the part of the
// processors' time that is always divided equally among the active orgs. The rest is given to orgs
// that want more, while no goroutines wait for a processor. While several orgs are active, the
// number of places of each org is half the number of processors, and at least one.
func New(processors, percent int) *Share {
	return &Share{
		Longest: time.Second, Queue: 10_000, places: max(1, processors/2),
		all: float64(processors), capacity: float64(processors) * float64(percent) / 100, pressed: new(pressure).high, scale: scale{cpu: processCPU}, accounts: map[string]*account{},
	}
}

// Waiting returns the number of requests that wait for a place, the permission to compute.
func (s *Share) Waiting() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiting
}

// take waits for a place of the org. If ctx ends, take returns the cause. If `bounded` is true and
// too many visits of the org wait already, take returns the error rate_limited at once.
func (s *Share) take(ctx context.Context, org string, bounded bool) error {
	w, err := s.enter(org, bounded)
	if w == nil {
		return err
	}
	select {
	case <-w:
		return nil
	case <-ctx.Done():
	}
	s.withdraw(org, w)
	return context.Cause(ctx)
}

// enter takes a place for a visit of the org, or returns a channel that is closed when the visit
// gets a place. The org "" stands for the process itself, which needs no place. Error:
// rate_limited, if `bounded` is true and too many visits of the org wait.
func (s *Share) enter(org string, bounded bool) (waiter, error) {
	if org == "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	a := s.asks(org, now)
	if len(a.waiting) == 0 && s.room(a, now) {
		s.uses(a, 1)
		a.held++
		return nil, nil
	}
	if bounded && len(a.waiting) >= s.Queue {
		return nil, &perdure.Error{Code: perdure.RateLimited, RetryAfter: time.Second, Message: fmt.Sprintf(
			"%d requests of the org wait for the processor, as many as may wait while other orgs are active; send fewer at once", s.Queue)}
	}
	w := make(waiter)
	s.uses(a, 1)
	a.waiting = append(a.waiting, w)
	s.waiting++
	s.serve(a, now) // sets the timer
	return w, nil
}

// leave releases a place of the org, and charges the org for the duration for which a visit had it.
func (s *Share) leave(org string, held time.Duration) {
	if org == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	a := s.accounts[org]
	s.charge(a, held, now)
	a.held--
	s.uses(a, -1)
	s.serve(a, now)
}

// withdraw ends the wait of a visit for a place. If the visit has got the place at the same moment,
// withdraw releases the place.
func (s *Share) withdraw(org string, w waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.accounts[org]
	if i := slices.Index(a.waiting, w); i >= 0 {
		a.waiting = slices.Delete(a.waiting, i, i+1)
		s.waiting--
	} else {
		a.held--
	}
	s.uses(a, -1)
	s.serve(a, time.Now())
}

// room reports whether one more visit of the account's org may get a place now.
func (s *Share) room(a *account, now time.Time) bool {
	if !s.company(a, now) {
		a.left = burst
		return true
	}
	return a.held < s.places && a.balance(now, s.rate) > 0
}

// serve passes free places to the org's waiting visits, in order. If they have to wait for the
// org's budget, serve sets a timer.
func (s *Share) serve(a *account, now time.Time) {
	s.compute(now)
	for len(a.waiting) > 0 && s.room(a, now) {
		close(a.waiting[0])
		a.waiting = slices.Delete(a.waiting, 0, 1)
		a.held++
		s.waiting--
	}
	if len(a.waiting) == 0 || a.held >= s.places || a.timed {
		return
	}
	a.timed = true
	time.AfterFunc(a.until(s.rate), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		a.timed = false
		s.serve(a, time.Now())
	})
}

// pause returns the time until the org's budget is positive at the current rate. It is zero if the
// budget is positive or no other org is active.
func (s *Share) pause(org string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	a := s.asks(org, now)
	if !s.company(a, now) || a.balance(now, s.rate) > 0 {
		return 0
	}
	return max(time.Millisecond, time.Duration(float64(1-a.left)/s.rate))
}

// company reports whether another org than that of the account is active.
func (s *Share) company(a *account, now time.Time) bool {
	others := s.busy
	if a.users > 0 {
		others--
	}
	latest := s.last
	if latest.org == a.org {
		latest = s.other
	}
	return others > 0 || latest.org != "" && now.Sub(latest.at) < lately
}
