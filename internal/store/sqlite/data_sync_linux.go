package sqlite

import (
	"golang.org/x/sys/unix"
	lib "modernc.org/sqlite/lib"
)

const hasDataSync = true

// syncData makes what was written to a file of the VFS "unix" durable, and its length.
func syncData(file uintptr) error {
	return unix.Fdatasync(int((*lib.TunixFile)(at(file)).Fh))
}
