// Package turns divides places among orgs, such as connections for reads.
package turns

import (
	"context"
	"slices"
	"sync"
)

// Turns limits the number of concurrent reads, or of other users of a place. If more are waiting,
// orgs take turns, and the reads of one org run in order. One org never has all places (if there
// are several), so that another org gets one at once. An org has fewer places while other orgs are
// active, because all share the cores. The process's own reads, of org "", may use all places.
type Turns struct {
	mu      sync.Mutex
	free    int
	alone   int // maximum number of places of one org
	beside  int // maximum number of places of one org while others are active
	company Company
	takes   int64
	held    map[string]int
	waiting map[string][]*waiter
	order   []string // waiting orgs, the next one first
}

// waiter is a read that waits for a place.
type waiter struct{ granted chan struct{} }

// minSpare is the minimum number of places that one org leaves to others, if there are enough
// places.
const minSpare = 2

// New returns turns for a number of places. beside is the maximum number of places of an org while
// other orgs are active.
func New(places, beside int) *Turns {
	alone := max(1, places-max(minSpare, places/4))
	return &Turns{free: places, alone: alone, beside: min(alone, max(1, beside)), held: map[string]int{}, waiting: map[string][]*waiter{}}
}

// Take waits for a place for a read of the org. The caller must call Leave if the error is nil.
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

// enter takes a place, or returns a waiter for one.
func (t *Turns) enter(org string) *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takes++
	t.company.Asks(org, t.takes)
	// A free place at this point cannot be used by a waiting read, so nobody is overtaken.
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

// Leave releases a place of the org and passes it to the next waiter.
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
	if i := slices.Index(t.order, org); i >= 0 { // behind the others
		t.order = append(slices.Delete(t.order, i, i+1), org)
	}
	t.give(org)
	close(w.granted)
}

// unlist removes a waiter of an org, and removes the org if it was the last one.
func (t *Turns) unlist(org string, i int) {
	if t.waiting[org] = slices.Delete(t.waiting[org], i, i+1); len(t.waiting[org]) > 0 {
		return
	}
	delete(t.waiting, org)
	t.order = slices.DeleteFunc(t.order, func(o string) bool { return o == org })
}

// withdraw ends a waiter whose context has ended. If the waiter got a place at the same moment,
// withdraw releases the place.
func (t *Turns) withdraw(org string, w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting[org], w); i >= 0 {
		t.unlist(org, i)
		return
	}
	t.leave(org)
}
