// Package scope tells libraries whether they are called inside an iteration of an agent.Loop. Each
// iteration is a scope of its own: names of steps and tasks must be unique only within one scope.
package scope

import "context"

// Key is the context key under which a context contains its scope, a string.
type Key struct{}

// Of returns the scope of a context: a text that is different for each iteration of an agent.Loop,
// and the same when the iteration runs again. Outside such a loop it is "".
func Of(ctx context.Context) string {
	s, _ := ctx.Value(Key{}).(string)
	return s
}
