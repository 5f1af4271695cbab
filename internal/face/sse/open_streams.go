package sse

import "sync"

// OpenStreams counts the streams that continue after their handlers have returned. Unlike a
// sync.WaitGroup, it allows a stream to begin while the count is zero and a goroutine is in Wait.
// The zero value is ready to use.
type OpenStreams struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n becomes 0; nil while nobody waits
}

// Go runs f in a goroutine, and counts it as an open stream until f returns.
func (s *OpenStreams) Go(f func()) {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
	go func() {
		defer s.end()
		f()
	}()
}

func (s *OpenStreams) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n--; s.n == 0 && s.none != nil {
		close(s.none)
		s.none = nil
	}
}

// Wait returns as soon as no stream is open.
func (s *OpenStreams) Wait() {
	s.mu.Lock()
	if s.n == 0 {
		s.mu.Unlock()
		return
	}
	if s.none == nil {
		s.none = make(chan struct{})
	}
	none := s.none
	s.mu.Unlock()
	<-none
}
