//go:build !linux

package tool

// applyTo does nothing here: a limit of another process cannot be set.
func (l Limits) applyTo(int) {}
