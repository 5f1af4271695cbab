package connection

import (
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/sqlite/lib"
)

// dataSync describes how the write-ahead log is synced after its first sync, which uses fsync and
// also makes the name of the log file durable. Later syncs may use fdatasync, which makes the data
// and the length of the file durable; SQLite needs no more after a power failure. With fsync, a
// journaling file system writes a journal transaction for the file's times at each commit. SQLite
// itself uses fdatasync if its build finds that call, but this build of SQLite's library does not.
// The zero value uses fsync.
type dataSync struct {
	enough bool // syncing only the data and the length is sufficient
	system bool // the file belongs to the system's VFS, without a layer between SQLite and the system
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

// sync syncs the data of a file to the disk. For a file of the VFS "unix" it makes the system call
// itself. For other files it calls the file's own sync method.
func (d dataSync) sync(tls *libc.TLS, file uintptr, flags int32, own *lib.Tsqlite3_io_methods) int32 {
	if !d.system {
		return called[flagsMethod](own.FxSync)(tls, file, flags|lib.SQLITE_SYNC_DATAONLY)
	}
	if err := syncData(file); err != nil {
		return lib.SQLITE_IOERR_FSYNC
	}
	return lib.SQLITE_OK
}
