// Package meter bounds the number of label values of metrics, because users choose the names that
// become label values.
package meter

import "sync"

// Other is the label value for all values beyond the bound.
const Other = "other"

// Bounded limits the values of one label: the first values are used unchanged, and the rest become
// Other. It is safe for concurrent use.
type Bounded struct {
	most  int
	mu    sync.RWMutex // guards known
	known map[string]bool
}

// NewBounded creates a Bounded for at most that many values.
func NewBounded(most int) *Bounded { return &Bounded{most: most, known: map[string]bool{}} }

// Of returns the value, or Other if the value is empty or beyond the bound.
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
