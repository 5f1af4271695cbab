package setup

import "sync"

// Interrupts lets a command react to Ctrl-C itself for a while, instead of being ended. With the zero
// value, Ctrl-C ends the command.
type Interrupts struct {
	mu     sync.Mutex
	handle func() bool
}

// Handle sets f as the function that is called for each Ctrl-C, until the returned function
// `release` is called. If f returns false, that Ctrl-C ends the command as usual.
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

// Handled is called for each Ctrl-C. It calls the function that Handle has set, and returns the
// result of that function. Without such a function it returns false, and the caller ends the
// command.
func (i *Interrupts) Handled() bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.handle != nil && i.handle()
}
