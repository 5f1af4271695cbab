//go:build !linux

package group

// machineMemory returns 0, because the memory is unknown on this system.
func machineMemory() int64 { return 0 }
