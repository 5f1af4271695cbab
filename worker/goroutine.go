//go:build amd64 || arm64

package worker

// goroutine returns an identifier of the calling goroutine, which is unique among live goroutines. Blocking
// methods of agent.Context compare it, and panic in every goroutine except the one in which the function of
// the agent runs. Otherwise their Goexit would end the wrong goroutine, and an errgroup would see nil for a
// task that never ran.
//
// Go shows the number of a goroutine only in the text of a stack, which takes 20 µs per call. This function
// instead returns an address that the runtime has in a register or in thread-local storage.
func goroutine() uintptr
