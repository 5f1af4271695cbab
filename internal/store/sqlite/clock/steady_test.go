package clock

import (
	"log/slog"
	"testing"
	"time"
)

// wallClock simulates a machine whose clock can be set.
type wallClock struct {
	*testing.T
	c      *Steady
	wall   time.Time
	passed time.Duration
	slept  time.Duration
	last   time.Time
}

func newWallClock(t *testing.T) *wallClock {
	w := &wallClock{T: t, wall: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	w.c = newSteady(func() (time.Time, time.Duration) { return w.wall, w.passed }, func() time.Duration { return w.slept }, slog.New(slog.DiscardHandler))
	w.last = w.c.Now()
	return w
}

// pass lets the time d pass in steps of a second, and returns how far the store's clock has
// advanced. If the store's clock goes back, it fails the test.
func (w *wallClock) pass(d time.Duration) time.Duration {
	w.Helper()
	began := w.last
	for left := d; left > 0; left -= time.Second {
		step := min(left, time.Second)
		w.passed += step
		w.wall = w.wall.Add(step)
		now := w.c.Now()
		if now.Before(w.last) {
			w.Fatalf("the time goes back by %s", w.last.Sub(now))
		}
		w.last = now
	}
	return w.last.Sub(began)
}

// off returns how far the machine's clock is ahead of the store's clock.
func (w *wallClock) off() time.Duration { return w.wall.Sub(w.c.Now()) }

// TestSettingTheClockMovesNoTime checks that setting the machine's clock, by different amounts,
// does not change the store's time at once. In the next minute, the store's clock may be faster by
// at most 1/2000 or slower by at most 1/10. If the setting is then undone, both clocks must
// show the same time after an hour, to within 1 ms.
func TestSettingTheClockMovesNoTime(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour, 900 * time.Millisecond, -24 * 365 * time.Hour, 100 * time.Millisecond} {
		w := newWallClock(t)
		w.pass(time.Minute)
		w.wall = w.wall.Add(by)
		if moved := w.c.Now().Sub(w.last); moved != 0 {
			t.Errorf("setting it by %s moves the time by %s", by, moved)
		}
		d := w.pass(time.Minute)
		if d > time.Minute+time.Minute/2000 || d < time.Minute-time.Minute/10 {
			t.Errorf("set by %s, a minute takes %s", by, d)
		}
		w.wall = w.wall.Add(-by)
		w.pass(time.Hour)
		if off := w.off(); off.Abs() > time.Millisecond {
			t.Errorf("set by %s and back, the clocks differ by %s an hour later", by, off)
		}
	}
}

// TestAClockThatStaysAsItWasSetIsAdopted checks when the store's time equals the machine's clock
// again: about 10 minutes after that clock was set forward by an hour or back by a minute, and 17
// minutes after it was set forward by 500 ms.
func TestAClockThatStaysAsItWasSetIsAdopted(t *testing.T) {
	for by, after := range map[time.Duration]time.Duration{
		time.Hour: adoptAfter, -time.Minute: 10 * time.Minute, 500 * time.Millisecond: 17 * time.Minute,
	} {
		w := newWallClock(t)
		w.wall = w.wall.Add(by)
		w.pass(after - time.Minute)
		if off := w.off(); off.Abs() < time.Millisecond {
			t.Errorf("set by %s it is adopted before %s", by, after)
		}
		w.pass(2 * time.Minute)
		if off := w.off(); off.Abs() > time.Millisecond {
			t.Errorf("set by %s, the clocks differ by %s after %s", by, off, after+time.Minute)
		}
	}
}

// TestSleepCountsAsTime checks that the store's time advances by the time that the machine has
// slept.
func TestSleepCountsAsTime(t *testing.T) {
	w := newWallClock(t)
	w.pass(time.Second)
	w.slept += time.Hour
	w.wall = w.wall.Add(time.Hour)
	if d := w.pass(time.Second); d != time.Hour+time.Second {
		t.Errorf("an hour's sleep and a second are %s", d)
	}
}

// TestTheMachinesClockDoesNotGoBack checks that a clock that reads the machine's real clocks does
// not go back.
func TestTheMachinesClockDoesNotGoBack(t *testing.T) {
	c := New(slog.New(slog.DiscardHandler))
	last := c.Now()
	for range 10_000 {
		now := c.Now()
		if now.Before(last) {
			t.Fatalf("the time goes back by %s", last.Sub(now))
		}
		last = now
	}
}
