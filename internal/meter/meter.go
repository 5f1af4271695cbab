// Package meter limits the number of distinct values of a metric's label. Without a limit, users
// could create any number of time series, because the names that they choose become label values.
package meter

import "sync"

// Other is the label value that replaces the values over the limit.
const Other = "other"

// Bounded limits the number of distinct values of one label. The first values are used unchanged;
// further values become Other. It is safe for concurrent use.
type Bounded struct {
	most  int
	mu    sync.RWMutex // guards known
	known map[string]bool
}

// NewBounded creates a Bounded with a maximum number of distinct values.
func NewBounded(most int) *Bounded { return &Bounded{most: most, known: map[string]bool{}} }

// Of returns the value if it is one of the first distinct values, up to the limit. For any further
// value, and for an empty one, it returns Other.
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
