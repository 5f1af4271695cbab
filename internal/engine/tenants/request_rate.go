package tenants

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// bucket is a token bucket for the requests of an API key. It fills at the key's number of requests
// per second, and contains at most the tokens of one second.
type bucket struct {
	held float64
	at   time.Time // the time at which the field held was computed
}

// requestRates contains the token buckets of the API keys that were used recently.
type requestRates struct {
	mu      sync.Mutex // guards buckets
	buckets map[uuid.UUID]*bucket
}

// Request counts a request with the API key on this server. Error: rate_limited, with the time
// until the next request is possible.
func (t *Tenants) Request(key *perdure.APIKey) error {
	if key == nil || key.Limits.RequestsPerSecond == 0 {
		return nil
	}
	return t.rates.request(key.ID, key.Limits, time.Now())
}

func (c *requestRates) request(id uuid.UUID, l perdure.KeyLimits, now time.Time) error {
	most := float64(l.RequestsPerSecond)
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.buckets[id]
	if b == nil {
		if c.buckets == nil || len(c.buckets) >= maxCachedRows {
			c.buckets = map[uuid.UUID]*bucket{}
		}
		b = &bucket{held: most, at: now}
		c.buckets[id] = b
	}
	if passed := now.Sub(b.at); passed > 0 {
		b.held, b.at = b.held+passed.Seconds()*most, now
	}
	b.held = min(b.held, most)
	if b.held >= 1 {
		b.held--
		return nil
	}
	return &perdure.Error{Code: perdure.RateLimited, RetryAfter: l.Wait(b.held), Message: fmt.Sprintf(
		"this key may make %d requests a second of this server; ask less often, or have an admin raise the limit (perdure keys set --requests-per-second)", l.RequestsPerSecond)}
}
