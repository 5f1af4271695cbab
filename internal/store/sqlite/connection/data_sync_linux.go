package connection

import (
	"golang.org/x/sys/unix"
	lib "modernc.org/sqlite/lib"
)

const hasDataSync = true

// syncData syncs the data and the length of a file of the VFS "unix" to the disk.
func syncData(file uintptr) error {
	return unix.Fdatasync(int((*lib.TunixFile)(at(file)).Fh))
}
