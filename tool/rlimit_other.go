//go:build !linux

package tool

// applyTo does nothing, because this system cannot set limits of another process.
func (l Limits) applyTo(int) {}
