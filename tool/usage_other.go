//go:build !linux

package tool

// machineMemory is unknown here.
func machineMemory() int64 { return 0 }
