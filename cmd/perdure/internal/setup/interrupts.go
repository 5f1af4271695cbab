package setup

import "sync"

// Interrupts lets a command handle Ctrl-C itself for a while. Its zero value handles nothing.
type Interrupts struct {
	mu     sync.Mutex
	handle func() bool
}

// Handle sets the function that is called for each Ctrl-C until release is called. If it returns
// false, the command is ended as usual.
func (i *Interrupts) Handle(f func() bool) (release func()) {
	if i == nil {
		return func() {}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.handle = f
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.handle = nil
	}
}

// Handled reports whether the command has handled a Ctrl-C itself.
func (i *Interrupts) Handled() bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.handle != nil && i.handle()
}
