//go:build !linux

package lock

import "os"

// lockByte does nothing. On these systems a file lock belongs to the process, like SQLite's locks.
// Only the lock of the data directory applies.
func lockByte(*os.File) error { return nil }
