//go:build !linux

package tool

// machineMemory is unknown here.
func machineMemory() int64 { return 0 }

// usage is unknown here, so that the limits of processes and memory do not hold.
func (g *group) usage(Limits) usage { return usage{} }
