package remote

import "sync"

// reconnectSignal tells waiters when a lost connection is restored. The zero value is ready to use.
type reconnectSignal struct {
	mu       sync.Mutex // guards the channel returned
	returned chan struct{}
}

// back returns a channel that is closed at the next reconnect.
func (l *reconnectSignal) back() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned == nil {
		l.returned = make(chan struct{})
	}
	return l.returned
}

// broadcast closes the channel of all callers of back.
func (l *reconnectSignal) broadcast() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned != nil {
		close(l.returned)
		l.returned = nil
	}
}
