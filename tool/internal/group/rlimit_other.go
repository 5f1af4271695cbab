//go:build !linux

package group

// ApplyTo does nothing, because on this system no process can set the limits of another one.
func (l Limits) ApplyTo(int) {}
