package board

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/rules"
)

const (
	// IdlePatience is how long an execution that must run alone on its worker waits for an idle
	// worker (one without an execution), before the server chooses a worker that must become idle.
	IdlePatience = 3 * time.Second
	// drainPatience is how long a chosen worker stays chosen after its last poll. After that time,
	// another worker may be chosen in its place.
	drainPatience = 30 * time.Second
)

// Drains chooses one worker for each execution that must run alone on its worker and has waited for
// longer than IdlePatience. The chosen worker claims no execution until it is idle. Each server has
// its own Drains. The store ensures that no execution runs on the same worker as an execution that
// must run alone.
type Drains struct {
	mu     sync.Mutex // guards chosen
	chosen map[uuid.UUID]drain
}

// drain is a worker that claims nothing until it is idle, with the time of its last poll.
type drain struct {
	worker uuid.UUID
	polled perdure.Time
}

// Draining reports whether the worker was chosen to become idle. It also records the time of the
// worker's poll.
func (b *Drains) Draining(worker uuid.UUID, now perdure.Time) bool {
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

// Polled updates Drains after a poll of a worker. The parameter `claimed` has the executions that
// the poll has claimed. The parameter `waits`, unless nil, describes an execution that waits to run
// alone on its worker.
func (b *Drains) Polled(worker uuid.UUID, claimed []*perdure.Execution, waits *rules.AloneWait, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range claimed {
		delete(b.chosen, x.ID)
	}
	if waits == nil {
		// No execution waits to run alone on this worker any more: another worker has claimed the one
		// that waited, or the execution has ended.
		for id, d := range b.chosen {
			if d.worker == worker {
				delete(b.chosen, id)
			}
		}
		return
	}
	d, taken := b.chosen[waits.Execution]
	if taken && now.Sub(d.polled.Time) < drainPatience || now.Sub(waits.Since.Time) < IdlePatience {
		return
	}
	if b.chosen == nil {
		b.chosen = map[uuid.UUID]drain{}
	}
	b.chosen[waits.Execution] = drain{worker, now}
}
