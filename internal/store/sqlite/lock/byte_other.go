//go:build !linux

package lock

import "os"

// lockByte does nothing. On these systems, a file lock belongs to the process, like SQLite's own
// locks. Other servers are excluded only by the lock of the data directory.
func lockByte(*os.File) error { return nil }
