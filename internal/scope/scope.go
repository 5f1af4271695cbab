// Package scope tells libraries in which part of an agent's function they are called. Names of steps
// and tasks are local to the part.
package scope

import "context"

// Key is the key of the scope in a context. Its value is a string.
type Key struct{}

// Of returns the scope of a context: "", or a text that differs for each call of the step of an
// agent.Loop, and is the same when that call runs again.
func Of(ctx context.Context) string {
	s, _ := ctx.Value(Key{}).(string)
	return s
}
