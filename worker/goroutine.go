//go:build amd64 || arm64

package worker

// goroutine returns an identifier of the calling goroutine, unique among live goroutines. Blocking
// methods of agent.Context compare it, and panic in any goroutine but Run's own. In another
// goroutine, their Goexit would end the wrong goroutine, and an errgroup would see nil for a task
// that never ran. Go shows a goroutine's number only in the text of a stack, which takes 20 µs per
// call. So this function returns an address that the runtime has in a register or in thread-local
// storage.
func goroutine() uintptr
