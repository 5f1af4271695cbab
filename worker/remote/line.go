package remote

import "sync"

// line announces that a lost connection has come back, to all who wait for it. The
// zero value is ready.
type line struct {
	mu       sync.Mutex // guards returned
	returned chan struct{}
}

// back returns a channel that is closed when the connection next comes back.
func (l *line) back() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned == nil {
		l.returned = make(chan struct{})
	}
	return l.returned
}

// cameBack wakes everybody who waits.
func (l *line) cameBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned != nil {
		close(l.returned)
		l.returned = nil
	}
}
