//go:build !linux

package sqlite

import "os"

// lockByte locks nothing: elsewhere a lock of a file is the process's, as SQLite's are,
// and the lock of the data directory has to do.
func lockByte(*os.File) error { return nil }
