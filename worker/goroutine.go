//go:build amd64 || arm64

package worker

// goroutine identifies the calling goroutine among those that live. Blocking calls
// are legal in Run's own goroutine only: elsewhere their Goexit would end the wrong
// one, and an errgroup would see nil for a task that never ran. Go itself tells it
// only in the text of a stack, which takes 20 µs to write, for each blocking call;
// this is the address that the runtime keeps in a register or the thread's storage.
func goroutine() uintptr
