package remote

import "sync"

// line tells waiters when a lost connection is restored. The zero value is ready to use.
type line struct {
	mu       sync.Mutex // guards returned
	returned chan struct{}
}

// back returns a channel that is closed at the next reconnect.
func (l *line) back() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned == nil {
		l.returned = make(chan struct{})
	}
	return l.returned
}

// cameBack closes the channel of all callers of back.
func (l *line) cameBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned != nil {
		close(l.returned)
		l.returned = nil
	}
}
