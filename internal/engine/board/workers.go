package board

import (
	"sync"

	"github.com/google/uuid"
)

// maxSeenWorkers is the maximum number of workers that Workers records between two calls of Take.
const maxSeenWorkers = 100_000

// Workers records which workers this server has seen since it last wrote these workers to the
// store.
type Workers struct {
	mu    sync.Mutex // guards the fields below
	seen  map[Worker]bool
	polls map[Worker]int // open polls
}

// Worker identifies a worker by org and id, because the id is unique only within the org.
type Worker struct {
	Org string
	ID  uuid.UUID
}

// Saw notes that a worker has sent a request to this server.
func (b *Workers) Saw(org string, worker uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.note(Worker{org, worker})
}

func (b *Workers) note(w Worker) {
	if b.seen == nil {
		b.seen = map[Worker]bool{}
	}
	if len(b.seen) < maxSeenWorkers && w.ID != uuid.Nil {
		b.seen[w] = true
	}
}

// Polling notes that a poll of a worker is open. The caller must call the returned function at the
// end of the poll.
func (b *Workers) Polling(org string, worker uuid.UUID) (over func()) {
	w := Worker{org, worker}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.polls == nil {
		b.polls = map[Worker]int{}
	}
	b.polls[w]++
	b.note(w)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.note(w)
		if b.polls[w]--; b.polls[w] == 0 {
			delete(b.polls, w)
		}
	}
}

// Take returns, for each org, the workers that were seen since the last call of Take. It includes
// workers with an open poll.
func (b *Workers) Take() map[string][]uuid.UUID {
	b.mu.Lock()
	defer b.mu.Unlock()
	for w := range b.polls {
		b.note(w)
	}
	byOrg := map[string][]uuid.UUID{}
	for w := range b.seen {
		byOrg[w.Org] = append(byOrg[w.Org], w.ID)
	}
	b.seen = nil
	return byOrg
}
