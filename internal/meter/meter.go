// Package meter keeps metrics small: what users name becomes the value of a
// label only up to a number of values.
package meter

import "sync"

// Other stands for all values beyond the bound.
const Other = "other"

// Bounded gives values of one label, at most so many different ones: those that
// come first. It is safe for concurrent use.
type Bounded struct {
	most  int
	mu    sync.RWMutex // guards known
	known map[string]bool
}

// NewBounded makes one for at most that many values.
func NewBounded(most int) *Bounded { return &Bounded{most: most, known: map[string]bool{}} }

// Of returns the value, or Other.
func (b *Bounded) Of(value string) string {
	b.mu.RLock()
	known, full := b.known[value], len(b.known) >= b.most
	b.mu.RUnlock()
	switch {
	case known:
		return value
	case full || value == "":
		return Other
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= b.most && !b.known[value] {
		return Other
	}
	b.known[value] = true
	return value
}
