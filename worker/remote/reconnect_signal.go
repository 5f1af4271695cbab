package remote

import "sync"

// reconnectSignal tells goroutines that a lost connection is restored. The zero value is ready to use.
type reconnectSignal struct {
	mu       sync.Mutex // guards the channel returned
	returned chan struct{}
}

// back returns a channel that is closed when the client reconnects the next time.
func (l *reconnectSignal) back() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned == nil {
		l.returned = make(chan struct{})
	}
	return l.returned
}

// broadcast closes all channels that the method `back` has returned.
func (l *reconnectSignal) broadcast() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned != nil {
		close(l.returned)
		l.returned = nil
	}
}
