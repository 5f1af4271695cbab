package tenants

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// TestRequestsOfAKeyAreBounded checks that an API key can send the requests of one second at once,
// even after an hour without requests. The next request is refused, and RetryAfter in the error is
// the time until one more request is possible. A clock that moves back allows no further requests.
// Other keys are not affected.
func TestRequestsOfAKeyAreBounded(t *testing.T) {
	var (
		c   requestRates
		id  = uuid.New()
		l   = perdure.KeyLimits{RequestsPerSecond: 4}
		now = time.Unix(1000, 0)
	)
	takes := func(n int) {
		t.Helper()
		for i := range n {
			if err := c.request(id, l, now); err != nil {
				t.Fatalf("request %d: %v", i, err)
			}
		}
		err := c.request(id, l, now)
		var coded *perdure.Error
		if !errors.As(err, &coded) || coded.Code != perdure.RateLimited || coded.RetryAfter <= 0 || coded.RetryAfter > 250*time.Millisecond {
			t.Fatalf("after %d: %v", n, err)
		}
		if err := c.request(id, l, now.Add(-time.Hour)); err == nil {
			t.Error("a clock that goes back makes room")
		}
	}
	takes(4)
	now = now.Add(250 * time.Millisecond)
	takes(1)
	now = now.Add(time.Hour)
	takes(4)
	if err := c.request(uuid.New(), l, now); err != nil {
		t.Errorf("another key: %v", err)
	}
}
