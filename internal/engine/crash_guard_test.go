package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/longtest"
)

// These are limits of the crash guard: how many panics in a row, and how many lost workers in a row,
// fail an execution, and the longest pause before the next claim.
const (
	panicsToFail, lossesToFail = 3, 10
	maxPause                   = time.Minute
)

// panics releases the claim like a worker whose agent code panicked.
func (h *holder) panics() {
	h.Helper()
	h.must(h.d.Release(h.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease, Panic: "panic: boom\nstack"}}}))
}

// unfit releases the claim like a worker that cannot run the execution, for example an old build.
func (h *holder) unfit() {
	h.Helper()
	h.must(h.d.Release(h.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease, Unfit: "too old"}}}))
}

// checkpoints commits a checkpoint.
func (h *holder) checkpoints() {
	h.Helper()
	h.commit(func(c *perdure.Commit) { c.Checkpoint = &perdure.NewCheckpoint{} })
}

// sleeps suspends the execution for a millisecond, and claims it again.
func (h *holder) sleeps() *holder {
	h.Helper()
	h.suspend(perdure.WaitUntil(h.s.Now().Add(time.Millisecond)))
	h.clock.advance(time.Millisecond)
	h.sweep()
	return h.bench.claim()
}

// pause returns the time until the execution can be claimed again.
func (h *holder) pause() time.Duration {
	h.Helper()
	h.wantStatus(h.id, perdure.StatusPending)
	if x := h.execution(h.id); !x.NotBefore.IsZero() {
		return x.NotBefore.Sub(h.s.Now().Time)
	}
	return 0
}

// rests advances the clock to the end of the crash guard's pause, and claims the execution again. It
// also checks that no claim is possible one millisecond before the end of the pause.
func (h *holder) rests() *holder {
	h.Helper()
	if pause := h.pause(); pause > 0 {
		h.clock.advance(pause - time.Millisecond)
		if got := h.claims(); len(got) != 0 {
			h.Fatalf("it was claimed before its pause of %s was over", pause)
		}
		h.clock.advance(time.Millisecond)
	}
	return h.bench.claim()
}

// untilFailed calls the function `claim` repeatedly until the execution has failed with the error
// code. Between two calls it advances the clock to the end of the crash guard's pause. It returns
// the number of calls.
func (h *holder) untilFailed(code perdure.Code, claim func(*holder)) int {
	h.Helper()
	for n := 1; n <= 100; n++ {
		claim(h)
		x := h.execution(h.id)
		if x.Status == perdure.StatusFailed {
			if *x.ErrorCode != code {
				h.Errorf("it failed with %s, want %s", *x.ErrorCode, code)
			}
			return n
		}
		h = h.rests()
	}
	h.Fatal("it goes on for ever")
	return 0
}

// TestCrashGuard checks that the pause before the next claim grows with each lost worker, up to a
// minute, and that the tenth loss fails the execution.
func TestCrashGuard(t *testing.T) {
	h := newBench(t).started()
	for n, want := range []int{0, 2, 4, 8, 16, 32, 60, 60, 60} {
		h.crash(1)
		if got := h.pause(); got != time.Duration(want)*time.Second {
			t.Errorf("after %d losses the pause is %s, want %d s", n+1, got, want)
		}
		h = h.rests()
	}
	h.crash(1)
	if x := h.wantStatus(h.id, perdure.StatusFailed); *x.ErrorCode != "crash_loop" {
		t.Errorf("the error code is %v", *x.ErrorCode)
	}
}

func TestThreePanicsFail(t *testing.T) {
	h := newBench(t).started()
	for n, want := range []int{1, 2} {
		h.panics()
		if got := h.pause(); got != time.Duration(want)*time.Second {
			t.Errorf("after %d panics the pause is %s, want %d s", n+1, got, want)
		}
		h = h.rests()
	}
	h.panics()
	x := h.wantStatus(h.id, perdure.StatusFailed)
	if *x.ErrorCode != "panic" || !strings.Contains(*x.Error, "boom\nstack") {
		t.Errorf("the error is %s: %s", *x.ErrorCode, *x.Error)
	}
}

// TestCheckpointForgivesNothing checks that checkpoints do not reduce the scores, because an agent
// that repeats "checkpoint, then break" makes no progress. A suspend reduces each score by 1.
func TestCheckpointForgivesNothing(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, test := range map[string]struct {
		code  perdure.Code
		claim func(*holder)
		want  int
	}{
		"checkpoint, panic": {"panic", func(h *holder) { h.checkpoints(); h.panics() }, 3},
		// In this case, the score for panics is, one after another, 2, 1, 3, 2, 4, 3, 5, 4, 6.
		"checkpoint, sleep, panic":     {"panic", func(h *holder) { h.checkpoints(); h.sleeps().panics() }, 5},
		"checkpoint, worker lost":      {"crash_loop", func(h *holder) { h.checkpoints(); h.crash(1) }, 10},
		"each checkpoint, worker lost": {"crash_loop", func(h *holder) { h.checkpoints(); h.checkpoints(); h.crash(1) }, 10},
		"checkpoint, sleep, lost":      {"crash_loop", func(h *holder) { h.checkpoints(); h.sleeps().crash(1) }, 19},
		"checkpoint, unfit":            {"unfit_worker", func(h *holder) { h.checkpoints(); h.unfit() }, 10},
		"checkpoint, sleep, unfit":     {"unfit_worker", func(h *holder) { h.checkpoints(); h.sleeps().unfit() }, 19},
	} {
		t.Run(name, func(t *testing.T) {
			if got := newBench(t).started().untilFailed(test.code, test.claim); got != test.want {
				t.Errorf("it failed after %d claims, want %d", got, test.want)
			}
		})
	}
}

// TestGoodClaimsAreForgiving checks that claims that end with a suspend reduce the scores of the
// crash guard: after one bad claim and 1000 suspends, all scores of the execution are 0.
func TestGoodClaimsAreForgiving(t *testing.T) {
	longtest.Skip(t, "seconds")
	for name, bad := range map[string]func(*holder){
		"a kill": func(h *holder) { h.crash(1) }, "a panic": (*holder).panics, "an unfit worker": (*holder).unfit,
	} {
		t.Run(name, func(t *testing.T) {
			h := newBench(t).started()
			for n := range 1000 {
				if n == 500 {
					bad(h)
					h = h.rests()
				}
				h = h.sleeps()
			}
			if x := h.wantStatus(h.id, perdure.StatusRunning); x.Crashes+x.Panics+x.Unfit != 0 {
				t.Errorf("scores of %d, %d and %d are left", x.Crashes, x.Panics, x.Unfit)
			}
		})
	}
}

func TestScoresFollowTheEndsOfClaims(t *testing.T) {
	h := newBench(t).started()
	scores := func(panics, crashes, unfit int) {
		t.Helper()
		if x := h.execution(h.id); x.Panics != panics || x.Crashes != crashes || x.Unfit != unfit {
			t.Fatalf("the scores are %d, %d and %d, want %d, %d and %d", x.Panics, x.Crashes, x.Unfit, panics, crashes, unfit)
		}
	}
	h.panics()
	h = h.rests()
	scores(2, 0, 0)
	h.crash(1)
	h = h.rests()
	scores(2, 2, 0)
	h.unfit()
	h = h.rests()
	scores(2, 2, 2)
	h.must(h.d.Release(t.Context(), perdure.Release{Agents: []perdure.AgentRelease{{Lease: h.claim.Lease}}}))
	h = h.bench.claim()
	scores(2, 2, 2) // a release changes no score
	h.bench.signal(h.id, "m", "s1")
	if reply := h.commit(suspending(perdure.WaitSignal("m"))); reply.Suspended {
		t.Fatal("it is suspended though its wait is met")
	}
	scores(2, 2, 2) // the claim is still held
	if reply := h.commit(completing("m")); reply.Ended != "" {
		t.Fatal("it ended though it has signals")
	}
	scores(2, 2, 2)
	h = h.sleeps()
	scores(1, 1, 1)
	h.panics()
	if got := h.pause(); got != time.Second { // the pause is 1 s << (3/2 - 1)
		t.Errorf("with a score of 3 the pause is %s", got)
	}
	h = h.rests()
	h.crash(1)
	if got := h.pause(); got != time.Second { // not the first bad end in a row, so there is a pause
		t.Errorf("with a score of 3 the pause is %s", got)
	}
	h = h.rests()
	h.commit(completing())
	scores(2, 2, 0)
}

// TestBadEndsOfACancelledExecution checks that a cancelling execution becomes CANCELLED even if a
// panic or a lost worker raises a score to the limit at which another execution fails.
func TestBadEndsOfACancelledExecution(t *testing.T) {
	for name, test := range map[string]struct {
		most int
		bad  func(*holder)
	}{"panic": {3, (*holder).panics}, "unfit": {10, (*holder).unfit}, "lost": {10, func(h *holder) { h.crash(1) }}} {
		t.Run(name, func(t *testing.T) {
			h := newBench(t).started()
			for range test.most - 1 {
				test.bad(h)
				h = h.rests()
			}
			h.bench.cancel(h.id)
			test.bad(h)
			h.wantStatus(h.id, perdure.StatusCancelled)
		})
	}
}
