//go:build amd64 || arm64

package worker

// goroutine returns an identifier of the calling goroutine, which is unique among live goroutines.
// Blocking methods of agent.Context compare the identifiers, and panic in every goroutine except
// the one in which the agent's function runs. In another goroutine, the runtime.Goexit of such a
// method would end that goroutine, and an errgroup would report no error for a task that never ran.
//
// The number that Go gives a goroutine is only in the text of a stack trace, which takes 20 µs per
// call. This function instead returns an address that the runtime has in a register or in
// thread-local storage.
func goroutine() uintptr
