package engine

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const (
	// alonePatience is how long an execution that has to be alone waits for a
	// worker to be idle by chance.
	alonePatience = 3 * time.Second
	// drainPatience is how long a worker that is chosen to get idle may poll no
	// more before another is chosen.
	drainPatience = 30 * time.Second
)

// aloneWait is the answer of a claim that found an execution which has to be
// alone, for a worker that holds others.
type aloneWait struct {
	execution uuid.UUID
	since     perdure.Time
}

// aloneBoard chooses, for each execution that has waited for long to be alone,
// one worker that gets nothing else until it is idle. It is a server's own
// memory: the store sees to it that nobody is ever beside.
type aloneBoard struct {
	mu     sync.Mutex // guards chosen
	chosen map[uuid.UUID]drain
}

// drain is a worker that gets nothing until it is idle.
type drain struct {
	worker uuid.UUID
	polled perdure.Time
}

// drains reports whether the worker is chosen.
func (b *aloneBoard) drains(worker uuid.UUID, now perdure.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, d := range b.chosen {
		if d.worker == worker {
			b.chosen[id] = drain{worker, now}
			return true
		}
	}
	return false
}

// polled takes in what a poll of the worker found.
func (b *aloneBoard) polled(worker uuid.UUID, claimed []*perdure.Execution, waits *aloneWait, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range claimed {
		delete(b.chosen, x.ID)
	}
	if waits == nil {
		// What this worker was chosen for has gone to another, or ended.
		for id, d := range b.chosen {
			if d.worker == worker {
				delete(b.chosen, id)
			}
		}
		return
	}
	d, taken := b.chosen[waits.execution]
	if taken && now.Sub(d.polled.Time) < drainPatience || now.Sub(waits.since.Time) < alonePatience {
		return
	}
	if b.chosen == nil {
		b.chosen = map[uuid.UUID]drain{}
	}
	b.chosen[waits.execution] = drain{worker, now}
}

func later(a, b perdure.Time) perdure.Time {
	if a.Before(b.Time) {
		return b
	}
	return a
}
