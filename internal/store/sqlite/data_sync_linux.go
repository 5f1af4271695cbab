package sqlite

import (
	"golang.org/x/sys/unix"
	lib "modernc.org/sqlite/lib"
)

const hasDataSync = true

// syncData makes the data and length of a file of the VFS "unix" durable.
func syncData(file uintptr) error {
	return unix.Fdatasync(int((*lib.TunixFile)(at(file)).Fh))
}
