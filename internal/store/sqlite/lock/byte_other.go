//go:build !linux

package lock

import "os"

// lockByte does nothing. On these systems, a file lock belongs to the process, like SQLite's locks.
// So only the lock of the data directory excludes other servers.
func lockByte(*os.File) error { return nil }
