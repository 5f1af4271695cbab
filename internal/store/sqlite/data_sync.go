package sqlite

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// dataSync says how the log is synced after its first sync, which makes its name
// durable, too. SQLite's library here is built without fdatasync: its fsync stores the
// file's times with each commit, for which a file system with a journal writes a
// transaction of it. What was written and the file's length are all that SQLite reads
// after a loss of power, and those fdatasync makes durable: POSIX's synchronized I/O data
// integrity completion includes what a read of the data needs, and Linux's
// fdatasync(2) names a change of the length. SQLite itself uses it where its build
// finds it. The zero value asks for fsync.
type dataSync struct {
	enough bool // a sync of the data is
	system bool // the file is the system's, with nothing between
}

// dataSync returns how the connection's log may be synced.
func (n *native) dataSync() dataSync {
	place, err := n.malloc(int(unsafe.Sizeof(n.db)))
	if err != nil {
		return dataSync{}
	}
	defer n.free(place)
	if lib.Xsqlite3_file_control(n.tls, n.db, 0, lib.SQLITE_FCNTL_VFS_POINTER, place) != lib.SQLITE_OK {
		return dataSync{}
	}
	vfs := (*lib.Tsqlite3_vfs)(at(*(*uintptr)(at(place))))
	return dataSync{enough: hasDataSync, system: libc.GoString(vfs.FzName) == "unix"}
}

// sync makes the file's data durable. Where something stands between SQLite and the
// system, that is asked to.
func (d dataSync) sync(tls *libc.TLS, file uintptr, flags int32, own *lib.Tsqlite3_io_methods) int32 {
	if !d.system {
		return called[flagsMethod](own.FxSync)(tls, file, flags|lib.SQLITE_SYNC_DATAONLY)
	}
	if err := syncData(file); err != nil {
		return lib.SQLITE_IOERR_FSYNC
	}
	return lib.SQLITE_OK
}
