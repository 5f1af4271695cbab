package board

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// FirstClaimFor is how long an execution that became PENDING is reserved for the worker that keeps
// its goroutine.
const FirstClaimFor = 500 * time.Millisecond

// FirstClaims tells one poll which executions it must not claim yet, because another worker has
// parked their goroutines and is to get them first.
type FirstClaims struct {
	board  *Keepers
	worker uuid.UUID
	mu     sync.Mutex // guards until
	until  perdure.Time
}

// FirstClaims returns a FirstClaims for one poll of the worker.
func (b *Keepers) FirstClaims(worker uuid.UUID) *FirstClaims {
	return &FirstClaims{board: b, worker: worker}
}

// Skip reports whether the poll should leave the execution to another worker for now. The committer
// calls Skip. The report comes from the memory of this server, and may be out of date. This is
// harmless, because a later poll finds a skipped execution.
func (f *FirstClaims) Skip(execution uuid.UUID, ready perdure.Time) bool {
	now, until := f.board.clock.Now(), ready.Add(FirstClaimFor)
	if until.Reached(now) || !f.board.keptElsewhere(execution, f.worker, now.Add(-f.board.lease)) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() || until.Before(f.until.Time) {
		f.until = until
	}
	return true
}

// Over returns the time after which any worker may claim the first of the skipped executions; 0 if
// none was skipped.
func (f *FirstClaims) Over() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() {
		return 0
	}
	return max(time.Millisecond, f.until.Sub(f.board.clock.Now().Time))
}

// keptElsewhere reports whether another worker than the given one keeps the execution's goroutine.
// That worker must have an open poll, and must have reported the goroutine after the time `since`.
func (b *Keepers) keptElsewhere(execution, worker uuid.UUID, since perdure.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	keeper, kept := b.keeper[execution]
	if !kept || keeper == worker {
		return false
	}
	p := b.workers[keeper]
	return p != nil && len(p.polls) > 0 && !p.heard.Before(since.Time)
}
