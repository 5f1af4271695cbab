//go:build !linux

package tool

// machineMemory returns 0, because the memory is unknown on this system.
func machineMemory() int64 { return 0 }
