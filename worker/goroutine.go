//go:build amd64 || arm64

package worker

// goroutine returns an identifier of the calling goroutine, unique among live goroutines. Blocking
// calls are allowed only in Run's own goroutine. In another goroutine, their Goexit would end the
// wrong one, and an errgroup would see nil for a task that never ran. Go exposes the number of a
// goroutine only in the text of a stack, which takes 20 µs for each blocking call. This function
// returns the address that the runtime keeps in a register or in thread-local storage.
func goroutine() uintptr
