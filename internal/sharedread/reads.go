package sharedread

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/fair"
)

// Reads lets concurrent calls for the same key share one read of the store. Each call returns the
// result of a read that begins after the call, so the result contains everything that was committed
// before the call.
//
// Each key has at most two reads: one that runs, and one that begins after it and serves all calls
// made in the meantime. The zero value is ready to use.
type Reads[K comparable, V any] struct {
	mu      sync.Mutex
	running map[K]*oneRead[V]
	waiting map[K]*oneRead[V] // reads that have not begun
}

// oneRead is one read. Its fields `value` and `err` may be read after the channel `done` is closed.
type oneRead[V any] struct {
	done  chan struct{}
	value V
	err   error
}

// Get returns the result of the function `read`, or of the read of a concurrent call with the same
// key. If ctx ends before that, Get returns the error of ctx. The read itself continues, because
// other calls may share it: its context has the values of ctx but does not end with ctx.
func (s *Reads[K, V]) Get(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
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

// join returns the read of the key that has not begun yet. If there is none, join creates one.
func (s *Reads[K, V]) join(key K, read func() (V, error)) *oneRead[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.waiting[key]; r != nil {
		return r
	}
	if s.waiting == nil {
		s.waiting, s.running = map[K]*oneRead[V]{}, map[K]*oneRead[V]{}
	}
	r := &oneRead[V]{done: make(chan struct{})}
	s.waiting[key] = r
	go s.run(key, r, s.running[key], read)
	return r
}

// run waits until the running read of the key (`before`; nil if there is none) has ended. Then it
// calls the function `read` and stores the result in r.
func (s *Reads[K, V]) run(key K, r, before *oneRead[V], read func() (V, error)) {
	if before != nil {
		<-before.done
	}
	s.mu.Lock()
	delete(s.waiting, key)
	s.running[key] = r
	s.mu.Unlock()
	r.value, r.err = recovered(read)
	s.mu.Lock()
	if s.running[key] == r {
		delete(s.running, key)
	}
	s.mu.Unlock()
	close(r.done)
}

// recovered calls the function `read`. If it panics, recovered returns an error with the code
// internal; the panic would otherwise end the whole process. The stack is in the error's cause,
// which clients do not receive.
func recovered[V any](read func() (V, error)) (value V, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &perdure.Error{Code: perdure.Internal, Message: "a read of the server failed", Err: fmt.Errorf("panic: %v\n%s", cause, debug.Stack())}
		}
	}()
	return read()
}
