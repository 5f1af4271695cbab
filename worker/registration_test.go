package worker

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// registrations is a perdure.Dispatch that counts registrations. It refuses them as long as its
// field `err` is set.
type registrations struct {
	perdure.Dispatch
	n   int
	err error
}

func (r *registrations) Register(context.Context, perdure.Registration) (perdure.Settings, error) {
	r.n++
	return perdure.Settings{}, r.err
}

// TestKindsAreRegisteredEveryHour checks that a worker registers its kinds again after an hour. If
// the server cannot be reached, the worker tries again with the next heartbeat.
func TestKindsAreRegisteredEveryHour(t *testing.T) {
	now := 5 * time.Hour
	d := &registrations{}
	w := New(Config{Dispatch: d, Clock: func() time.Duration { return now }})
	last := now
	beat := func(after time.Duration, want int) {
		t.Helper()
		now += after
		if last = w.registerAgain(t.Context(), last, time.Minute); d.n != want {
			t.Errorf("%d registrations, want %d", d.n, want)
		}
	}
	beat(59*time.Minute, 0)
	d.err = errors.New("away")
	beat(time.Minute, 1)
	d.err = nil
	beat(time.Second, 2)
	beat(59*time.Minute, 2)
	beat(time.Minute, 3)
}
