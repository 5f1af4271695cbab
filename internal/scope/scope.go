// Package scope tells libraries whether they are called inside one of the iterations of an
// agent.Loop. Names of steps and tasks are unique only within one such scope.
package scope

import "context"

// Key is the context key under which a context contains its scope, a string.
type Key struct{}

// Of returns the scope of a context: "", or a text that differs for each call of the step of an
// agent.Loop, and is the same when that call runs again.
func Of(ctx context.Context) string {
	s, _ := ctx.Value(Key{}).(string)
	return s
}
