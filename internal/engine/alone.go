package engine

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

const (
	// alonePatience is the time that an execution which must be alone waits for a worker that
	// happens to be idle.
	alonePatience = 3 * time.Second
	// drainPatience is the time after its last poll for which a chosen worker stays chosen. After
	// that, another worker may be chosen.
	drainPatience = 30 * time.Second
)

// aloneWait is the answer of a claim to a worker that already holds executions, if the claim found
// an execution that must be alone.
type aloneWait struct {
	execution uuid.UUID
	since     perdure.Time
}

// aloneBoard chooses one worker for each execution that has waited longer than alonePatience to be
// alone. A chosen worker is assigned nothing else until it is idle. The board is in the memory of
// one server. The store ensures that no other execution runs beside one that must be alone.
type aloneBoard struct {
	mu     sync.Mutex // guards chosen
	chosen map[uuid.UUID]drain
}

// drain is a worker that is assigned nothing until it is idle, with the time of its last poll.
type drain struct {
	worker uuid.UUID
	polled perdure.Time
}

// drains reports whether the worker is chosen, and records the time of its poll.
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

// polled updates the board with the result of a worker's poll.
func (b *aloneBoard) polled(worker uuid.UUID, claimed []*perdure.Execution, waits *aloneWait, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range claimed {
		delete(b.chosen, x.ID)
	}
	if waits == nil {
		// Another worker claimed the execution that this worker was chosen for, or the execution
		// ended.
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
