package board

import (
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// LostWorkers records the workers whose last connection to this server was lost. Each server has
// its own record. If the server stops, the record is lost, and the leases of these workers end only
// when they expire.
type LostWorkers struct {
	mu    sync.Mutex // guards since
	since map[Worker]perdure.Time
}

// Gone records that the last connection of a worker to this server was lost.
func (b *LostWorkers) Gone(org string, worker uuid.UUID, now perdure.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since == nil {
		b.since = map[Worker]perdure.Time{}
	}
	b.since[Worker{org, worker}] = now
}

// Back removes a worker from the record, because the worker has connected again.
func (b *LostWorkers) Back(org string, worker uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.since, Worker{org, worker})
}

// Due returns the workers that have been disconnected for the duration `after` or longer, each with
// the time at which its connection was lost. Due removes these workers from the record.
func (b *LostWorkers) Due(after time.Duration, now perdure.Time) map[Worker]perdure.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	due := map[Worker]perdure.Time{}
	for key, since := range b.since {
		if since.Add(after).Reached(now) {
			due[key] = since
			delete(b.since, key)
		}
	}
	return due
}
