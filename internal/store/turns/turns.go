// Package turns limits how many reads run at the same time, and shares them fairly among orgs.
package turns

import (
	"context"
	"slices"
	"sync"
)

// Turns limits how many reads run at the same time. Each read needs a place. If reads are waiting,
// the orgs take turns in getting a place, and the reads of one org run in order. If there are
// several places, one org never has all of them, so that a read of another org gets a place at
// once. The limit of an org is lower while other orgs are active, because they share the cores of
// the machine. The reads of the server process itself have the org "" and may use all places.
type Turns struct {
	mu      sync.Mutex
	free    int
	alone   int // maximum number of places of one org while no other org is active
	beside  int // maximum number of places of one org while other orgs are active
	company Company
	takes   int64
	held    map[string]int
	waiting map[string][]*waiter
	order   []string // orgs with waiting reads; the first one is served next
}

// waiter is a read that waits for a place.
type waiter struct{ granted chan struct{} }

// minSpare is the minimum number of places that one org leaves free for other orgs. But an org may
// always have one place.
const minSpare = 2

// New returns Turns with a number of places. While other orgs are active, one org may have at most
// `beside` places.
func New(places, beside int) *Turns {
	alone := max(1, places-max(minSpare, places/4))
	return &Turns{free: places, alone: alone, beside: min(alone, max(1, beside)), held: map[string]int{}, waiting: map[string][]*waiter{}}
}

// Take waits for a place for a read of the org. If the error is nil, the caller must call Leave
// later.
func (t *Turns) Take(ctx context.Context, org string) error {
	w := t.enter(org)
	if w == nil {
		return nil
	}
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	t.withdraw(org, w)
	return ctx.Err()
}

// Waiting returns the number of reads that wait for a place.
func (t *Turns) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, all := range t.waiting {
		n += len(all)
	}
	return n
}

// enter takes a place and returns nil. If no place is free for the org, it returns a waiter.
func (t *Turns) enter(org string) *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takes++
	t.company.Asks(org, t.takes)
	// No waiting read could use a place that is free now, so this read overtakes nobody.
	if len(t.waiting[org]) == 0 && t.room(org) {
		t.give(org)
		return nil
	}
	w := &waiter{make(chan struct{})}
	if len(t.waiting[org]) == 0 {
		t.order = append(t.order, org)
	}
	t.waiting[org] = append(t.waiting[org], w)
	return w
}

func (t *Turns) room(org string) bool {
	each := t.alone
	if t.company.Present(t.takes) {
		each = t.beside
	}
	return t.free > 0 && (org == "" || t.held[org] < each)
}

func (t *Turns) give(org string) {
	t.free--
	t.held[org]++
}

// Leave releases a place of the org. The place goes to the next waiting read that may use it.
func (t *Turns) Leave(org string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.leave(org)
}

func (t *Turns) leave(org string) {
	t.free++
	if t.held[org]--; t.held[org] == 0 {
		delete(t.held, org)
	}
	next := slices.IndexFunc(t.order, t.room)
	if next < 0 {
		return
	}
	org = t.order[next]
	w := t.waiting[org][0]
	t.unlist(org, 0)
	if i := slices.Index(t.order, org); i >= 0 { // the org goes to the end of the order
		t.order = append(slices.Delete(t.order, i, i+1), org)
	}
	t.give(org)
	close(w.granted)
}

// unlist removes the waiter at index i of an org. If the org has no more waiters, unlist removes
// the org from the field `order`.
func (t *Turns) unlist(org string, i int) {
	if t.waiting[org] = slices.Delete(t.waiting[org], i, i+1); len(t.waiting[org]) > 0 {
		return
	}
	delete(t.waiting, org)
	t.order = slices.DeleteFunc(t.order, func(o string) bool { return o == org })
}

// withdraw removes a waiter whose context has ended. If the waiter got a place at the same moment,
// withdraw releases that place.
func (t *Turns) withdraw(org string, w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting[org], w); i >= 0 {
		t.unlist(org, i)
		return
	}
	t.leave(org)
}
