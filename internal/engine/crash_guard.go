package engine

import (
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/store"
)

// The crash guard keeps an execution that breaks its workers from being claimed
// without end. The execution's row has three scores: one for panics, one for lost
// leases, one for workers that were unfit to run it. Only the end of a claim changes
// a score. A checkpoint does not: an agent that checkpoints and then breaks again
// has not become any better.
//
// A claim ends well when it suspends or ends the execution. An agent whose goroutine
// stays in its worker ends one claim at each suspend, and its next wake-up is another.
// A suspend that is answered with "go on" ends no claim. A claim that is given back
// changes no score.
const (
	// badEnd is what a bad end of a claim adds to its score, and goodEnd what a
	// good one takes from all of them.
	badEnd, goodEnd = 2, 1
	// maxPanicScore and maxLostScore fail the execution: three bad ends in a row,
	// or ten. The latter is also that of unfit workers.
	maxPanicScore, maxLostScore = 6, 20
	// maxPause bounds how long an execution waits after a bad end.
	maxPause = time.Minute
)

// mustBeAlone reports whether the execution has taken so many workers down that
// the next one may hold nothing else beside it.
func mustBeAlone(x *perdure.Execution) bool { return x.Crashes >= store.AloneScore }

// pauseAfter returns how long an execution waits after a bad end that made the
// score what it is: 1 s, doubled with each bad end in a row.
func pauseAfter(score int) time.Duration {
	n := min(score/badEnd-1, 6) // 64 s is over the bound
	return min(time.Second<<n, maxPause)
}

// pauseAfterLoss is pauseAfter for a worker that was lost or unfit. The first is
// free: a takeover after a plain crash must not take longer than the lease.
func pauseAfterLoss(score int) time.Duration {
	if score <= badEnd {
		return 0
	}
	return pauseAfter(score)
}

// endedWell takes a good end of a claim from the scores.
func (d *draft) endedWell() {
	for _, score := range []*int{&d.x.Panics, &d.x.Crashes, &d.x.Unfit} {
		*score = max(0, *score-goodEnd)
	}
}

// badly is a claim that ended badly.
type badly struct {
	score   *int // of the execution's row
	most    int  // the score that fails it
	pause   func(score int) time.Duration
	code    perdure.Code
	message string
	woke    perdure.Woke
}

// endedBadly adds a bad end to its score. The execution fails at the most that the
// score may be; before that it is claimable again after a pause. One that is being
// cancelled ends as CANCELLED.
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

// unfit ends a claim whose worker cannot bring the execution further.
func (d *draft) unfit(why string) (*store.Changes, error) {
	return d.endedBadly(badly{
		score: &d.x.Unfit, most: maxLostScore, pause: pauseAfterLoss,
		code: "unfit_worker", message: perdure.ValidText(why), woke: perdure.WokeReturned,
	})
}
