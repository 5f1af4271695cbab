package engine

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// The crash guard stops an execution that breaks its workers from being claimed without end. The
// execution's row has three scores: one for panics, one for lost leases, one for workers that were
// unfit to run it. Only the end of a claim changes a score. A checkpoint changes none, because an
// agent that repeats "checkpoint, then break" makes no progress.
//
// A claim ends well when it suspends or ends the execution. An agent whose goroutine stays parked
// in its worker ends one claim at each suspend; its next wake-up is another claim. A suspend whose
// wait is met already ends no claim. A claim that is given back changes no score.
const (
	// badEnd is added to one score at a bad end of a claim. goodEnd is subtracted from all scores
	// at a good end.
	badEnd, goodEnd = 2, 1
	// maxPanicScore and maxLostScore are the scores that fail the execution: after three bad ends
	// in a row, or ten. maxLostScore applies to unfit workers, too.
	maxPanicScore, maxLostScore = 6, 20
	// maxPause bounds the pause after a bad end.
	maxPause = time.Minute
)

// mustBeAlone reports whether so many workers were lost with the execution that its next worker
// must hold nothing else beside it.
func mustBeAlone(x *perdure.Execution) bool { return x.Crashes >= store.AloneScore }

// pauseAfter returns the pause after a bad end that raised the score to this value: 1 s, doubled at
// each bad end in a row, and at most maxPause.
func pauseAfter(score int) time.Duration {
	n := min(score/badEnd-1, 6) // 64 s exceeds maxPause
	return min(time.Second<<n, maxPause)
}

// pauseAfterLoss returns the pause after a worker was lost or unfit. The first such end has no
// pause, because a takeover after a plain crash must not take longer than the lease.
func pauseAfterLoss(score int) time.Duration {
	if score <= badEnd {
		return 0
	}
	return pauseAfter(score)
}

// endedWell subtracts a good end of a claim from the scores.
func (d *draft) endedWell() {
	for _, score := range []*int{&d.x.Panics, &d.x.Crashes, &d.x.Unfit} {
		*score = max(0, *score-goodEnd)
	}
}

// badly describes a claim that ended badly.
type badly struct {
	score   *int // a score of the execution's row
	most    int  // the score that fails the execution
	pause   func(score int) time.Duration
	code    perdure.Code
	message string
	woke    perdure.Woke
}

// endedBadly adds a bad end to its score. If the score reaches its maximum, the execution fails.
// Otherwise the execution is claimable again after a pause. An execution that is being cancelled
// ends as CANCELLED.
func (d *draft) endedBadly(end badly) (*store.Changes, error) {
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
	return d.endedBadly(badly{
		score: &d.x.Panics, most: maxPanicScore, pause: pauseAfter,
		code: "panic", message: d.quiet(&perdure.TaskError{Message: what}).Message, woke: perdure.WokeReturned,
	})
}

// crashed ends a claim whose worker was lost.
func (d *draft) crashed(why string) (*store.Changes, error) {
	return d.endedBadly(badly{
		score: &d.x.Crashes, most: maxLostScore, pause: pauseAfterLoss,
		code: "crash_loop", message: why, woke: perdure.WokeLost,
	})
}

// unfit ends a claim whose worker cannot run the execution.
func (d *draft) unfit(why string) (*store.Changes, error) {
	return d.endedBadly(badly{
		score: &d.x.Unfit, most: maxLostScore, pause: pauseAfterLoss,
		code: "unfit_worker", message: perdure.ValidText(why), woke: perdure.WokeReturned,
	})
}
