package engine

import (
	"context"
	"sync"

	"github.com/perdure/perdure/internal/fair"
)

// sharedReads lets calls at the same time for the same key share a read. A call gets
// what a read found that began after the call, so it misses nothing that was committed
// before. There are two reads of a key at most: one that runs, and one that waits for
// it with all who came since it began. The zero value is ready.
type sharedReads[K comparable, V any] struct {
	mu      sync.Mutex
	running map[K]*sharedRead[V]
	waiting map[K]*sharedRead[V] // not begun yet
}

// sharedRead is one read. The others may be read once done is closed.
type sharedRead[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// get returns what read finds. Read gets a context that has the values of a caller's
// and does not end with it, since others may wait for the same.
func (s *sharedReads[K, V]) get(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	r := s.join(key, func() (V, error) { return read(context.WithoutCancel(ctx)) })
	defer fair.Wait(ctx)()
	select {
	case <-r.done:
		return r.value, r.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// join returns the read that waits, or a new one.
func (s *sharedReads[K, V]) join(key K, read func() (V, error)) *sharedRead[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.waiting[key]; r != nil {
		return r
	}
	if s.waiting == nil {
		s.waiting, s.running = map[K]*sharedRead[V]{}, map[K]*sharedRead[V]{}
	}
	r := &sharedRead[V]{done: make(chan struct{})}
	s.waiting[key] = r
	go s.run(key, r, s.running[key], read)
	return r
}

// run reads once the read before has ended, which is nil where none runs.
func (s *sharedReads[K, V]) run(key K, r, before *sharedRead[V], read func() (V, error)) {
	if before != nil {
		<-before.done
	}
	s.mu.Lock()
	delete(s.waiting, key)
	s.running[key] = r
	s.mu.Unlock()
	r.value, r.err = read()
	s.mu.Lock()
	if s.running[key] == r {
		delete(s.running, key)
	}
	s.mu.Unlock()
	close(r.done)
}
