package rules

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// The crash guard limits the claims of an execution that breaks its workers. The execution's row
// has three scores: for panics, for lost leases, and for workers that were unfit to run it. Only
// the end of a claim changes a score. A checkpoint changes none, because an agent that repeats
// "checkpoint, then break" makes no progress.
//
// A claim ends well when its worker suspends or ends the execution, even if the worker keeps the
// goroutine of the suspended execution. A suspend whose wait is met already does not end the claim.
// If the worker releases a claim without reporting a failure, no score changes.
const (
	// badEnd is added to one score when a claim ends with a panic, a lost lease or an unfit worker.
	// goodEnd is subtracted from all scores when a claim ends well.
	badEnd, goodEnd = 2, 1
	// maxPanicScore is the score at which the execution fails because of panics, after three in a
	// row. maxLostScore is the score at which it fails after ten lost workers in a row, or ten
	// unfit ones.
	maxPanicScore, maxLostScore = 6, 20
	// maxPause is the maximum pause after a claim that ended badly.
	maxPause = time.Minute
)

// mustBeAlone reports whether the next worker of the execution must have no other execution,
// because many workers were lost while they ran this one.
func mustBeAlone(x *perdure.Execution) bool { return x.Crashes >= store.AloneScore }

// pauseAfter returns the pause after a claim that ended badly: 1 s, doubled at each bad end in a
// row, and at most maxPause. `score` is the score after this end.
func pauseAfter(score int) time.Duration {
	n := min(score/badEnd-1, 6) // 64 s exceeds maxPause
	return min(time.Second<<n, maxPause)
}

// pauseAfterLoss returns the pause after a worker was lost or unfit. There is no pause after the
// first loss, because another worker must be able to take over within the time of a lease.
func pauseAfterLoss(score int) time.Duration {
	if score <= badEnd {
		return 0
	}
	return pauseAfter(score)
}

// endedWell subtracts goodEnd from each score. A score does not become negative.
func (d *draft) endedWell() {
	for _, score := range []*int{&d.x.Panics, &d.x.Crashes, &d.x.Unfit} {
		*score = max(0, *score-goodEnd)
	}
}

// claimFailure describes a claim that ended badly.
type claimFailure struct {
	score   *int // a score of the execution's row
	most    int  // the score at which the execution fails
	pause   func(score int) time.Duration
	code    perdure.Code
	message string
	woke    perdure.WakeReason
}

// endedBadly ends a claim that has failed, and adds badEnd to the score of the failure. If the
// score reaches its maximum, a RUNNING execution becomes FAILED. Otherwise the execution can be
// claimed again after a pause, or becomes CANCELLED if it was CANCELLING.
func (d *draft) endedBadly(end claimFailure) (*store.Changes, error) {
	*end.score += badEnd
	if *end.score >= end.most && d.x.Status == perdure.StatusRunning {
		return d.fail(end.code, end.message)
	}
	changes, err := d.giveBack(end.woke)
	if pause := end.pause(*end.score); err == nil && pause > 0 && d.x.Status == perdure.StatusPending {
		d.x.NotBefore = d.s.Now.Add(pause)
	}
	return changes, err
}

// panicked ends a claim whose agent code panicked.
func (d *draft) panicked(what string) (*store.Changes, error) {
	return d.endedBadly(claimFailure{
		score: &d.x.Panics, most: maxPanicScore, pause: pauseAfter,
		code: "panic", message: d.quiet(&perdure.TaskError{Message: what}).Message, woke: perdure.WakeReturned,
	})
}

// crashed ends a claim whose worker was lost.
func (d *draft) crashed(why string) (*store.Changes, error) {
	return d.endedBadly(claimFailure{
		score: &d.x.Crashes, most: maxLostScore, pause: pauseAfterLoss,
		code: "crash_loop", message: why, woke: perdure.WakeLost,
	})
}

// unfit ends a claim whose worker cannot run the execution.
func (d *draft) unfit(why string) (*store.Changes, error) {
	return d.endedBadly(claimFailure{
		score: &d.x.Unfit, most: maxLostScore, pause: pauseAfterLoss,
		code: "unfit_worker", message: perdure.ValidText(why), woke: perdure.WakeReturned,
	})
}
