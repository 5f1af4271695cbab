package engine

import (
	"context"
	"sync"

	"github.com/perdure/perdure/internal/fair"
)

// sharedReads lets concurrent calls for the same key share a read. The read of a call never begins
// before the call, so its result contains everything that was committed before the call. Each key
// has at most two reads: one that runs, and one that waits for it and serves all calls since the
// first began. The zero value is ready to use.
type sharedReads[K comparable, V any] struct {
	mu      sync.Mutex
	running map[K]*sharedRead[V]
	waiting map[K]*sharedRead[V] // not begun yet
}

// sharedRead is one read. Its value and err may be read after done is closed.
type sharedRead[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// get returns the result of read. The context of read has the values of a caller's context but does
// not end with it, because other callers may wait for the same read.
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

// join returns the waiting read of the key, or a new one.
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

// run waits for the read before, if it is not nil, and then reads.
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
