// Package turns shares places among orgs: the connections that read, and the processor.
package turns

import (
	"context"
	"slices"
	"sync"
)

// Turns has places for so many reads at once, or whatever else takes a place. Where
// there are more, orgs take turns, and the reads of one org come in their order. One org never has all places, so that
// another finds one free at once, and fewer while it is not alone, since what all read
// has to share the cores. The process's own reads, of org "", may have all places.
type Turns struct {
	mu      sync.Mutex
	free    int
	alone   int // the most places of one org
	beside  int // of one that has company
	company Company
	takes   int64
	held    map[string]int
	waiting map[string][]*waiter
	order   []string // orgs that wait, the next one first
}

// waiter is a read that waits for a place.
type waiter struct{ granted chan struct{} }

// minSpare is the fewest places that one org leaves to others, if there are as many.
const minSpare = 2

// New returns turns at so many places, of which an org that has company may have as
// many as beside says.
func New(places, beside int) *Turns {
	alone := max(1, places-max(minSpare, places/4))
	return &Turns{free: places, alone: alone, beside: min(alone, max(1, beside)), held: map[string]int{}, waiting: map[string][]*waiter{}}
}

// Take waits for a place for a read of the org; the caller calls Leave.
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

// Waiting returns how many wait for a place.
func (t *Turns) Waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for _, all := range t.waiting {
		n += len(all)
	}
	return n
}

// enter takes a place, or returns what waits for one.
func (t *Turns) enter(org string) *waiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.takes++
	t.company.Asks(org, t.takes)
	// Whoever waits cannot be served now, so that a place that is free overtakes nobody.
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

// Leave gives a place of the org to whoever's turn it is.
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

// unlist takes out a waiter of the org, and the org with its last one.
func (t *Turns) unlist(org string, i int) {
	if t.waiting[org] = slices.Delete(t.waiting[org], i, i+1); len(t.waiting[org]) > 0 {
		return
	}
	delete(t.waiting, org)
	t.order = slices.DeleteFunc(t.order, func(o string) bool { return o == org })
}

// withdraw is a waiter's end. A place that it was given at the same moment continues.
func (t *Turns) withdraw(org string, w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting[org], w); i >= 0 {
		t.unlist(org, i)
		return
	}
	t.leave(org)
}
