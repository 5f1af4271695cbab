//go:build !linux

package group

// ApplyTo does nothing, because this system cannot set limits of another process.
func (l Limits) ApplyTo(int) {}
