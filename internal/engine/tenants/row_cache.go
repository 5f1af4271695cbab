package tenants

import (
	"sync"
	"time"
)

// maxCachedRows is the maximum number of rows in a cache; a full cache is emptied.
const maxCachedRows = 10_000

// rowCache caches the rows of one table by their keys, for a limited time. It also caches keys for
// which there is no row, so that requests with wrong keys cause few queries.
type rowCache[K comparable, T any] struct {
	mu    sync.Mutex // guards known
	known map[K]cachedRow[T]
}

type cachedRow[T any] struct {
	row   *T // nil if the key has no row
	until time.Time
}

// get returns the row of a key, or nil if the store has no such row. The result `ok` is false if
// the cache has no valid entry for the key, so that the store must be read.
func (c *rowCache[K, T]) get(key K, now time.Time) (row *T, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cached, ok := c.known[key]
	return cached.row, ok && !now.After(cached.until)
}

// remember caches the row of a key until the given time. A nil row records that the store has no
// row with this key.
func (c *rowCache[K, T]) remember(key K, row *T, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= maxCachedRows {
		c.known = map[K]cachedRow[T]{}
	}
	c.known[key] = cachedRow[T]{row, until}
}
