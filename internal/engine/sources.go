package engine

import (
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/perdure/perdure"
)

// sources are the workers that are connected and serve the contents of their
// LOCAL executions.
type sources struct {
	mu  sync.Mutex // guards all
	all map[workerKey][]*served
}

// workerKey names a worker: its id means nothing outside of its org.
type workerKey struct {
	org    string
	worker uuid.UUID
}

type served struct {
	source perdure.ContentSource
}

// serve makes the worker's contents available until ctx ends, and gives why it
// did. A worker that connects again before its old connection is known to be
// broken is asked over the new one.
func (s *sources) serve(ctx context.Context, org string, worker uuid.UUID, source perdure.ContentSource) error {
	key, mine := workerKey{org, worker}, &served{source}
	s.mu.Lock()
	if s.all == nil {
		s.all = map[workerKey][]*served{}
	}
	s.all[key] = append(s.all[key], mine)
	s.mu.Unlock()
	<-ctx.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := s.all[key][:0:0]
	for _, one := range s.all[key] {
		if one != mine {
			rest = append(rest, one)
		}
	}
	if s.all[key] = rest; len(rest) == 0 {
		delete(s.all, key)
	}
	return context.Cause(ctx)
}

// of gives the contents of a worker; nil if it is not connected.
func (s *sources) of(org string, worker uuid.UUID) perdure.ContentSource {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all[workerKey{org, worker}]
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].source
}
